import Testing

@testable import Configuration

struct DatabaseURLTests {
    @Test(arguments: [
        "postgresql:///ladle", "postgresql://ladle@localhost/ladle", "postgres://127.0.0.1:5433/x",
        "postgresql://[::1]:5432/x",
        "postgresql://%2Frun%2Fpostgresql/x", "postgresql:///x?host=/run/postgresql",
    ])
    func `a socket and loopback are this machine`(text: String) throws {
        let url = try #require(DatabaseURL(text))
        #expect(!url.leavesMachine && !url.hasPassword)
    }

    @Test(arguments: [
        "postgresql://db.example/x", "postgresql://localhost,db.example/x", "postgresql://localhost/x?host=db.example",
        "postgresql:///x?hostaddr=192.0.2.1", "postgresql:///x?service=production",
        "postgresql://127.0.0.1,192.0.2.1:5433/x",
    ])
    func `one host elsewhere is enough to need a check of the server`(text: String) throws {
        #expect(try #require(DatabaseURL(text)).leavesMachine)
    }

    @Test(arguments: ["postgresql://a:b@localhost/x", "postgresql://localhost/x?password=b"])
    func `a password is found`(text: String) throws {
        #expect(try #require(DatabaseURL(text)).hasPassword)
    }

    @Test(arguments: ["mysql://x/y", "localhost", "postgresql:///x?%70assword=b", "postgresql:///x?h%6fst=db.example"])
    func `another kind of text is none, nor one that hides a name`(text: String) {
        #expect(DatabaseURL(text) == nil)
    }

    @Test func `the mode of TLS is the last one that is written`() {
        #expect(DatabaseURL("postgresql://db/x?sslmode=disable&sslmode=verify-full")?.mode == "verify-full")
        #expect(DatabaseURL("postgresql://db/x")?.mode == nil)
    }
}
