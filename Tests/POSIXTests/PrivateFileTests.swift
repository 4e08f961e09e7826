import TestSupport
import Testing

@testable import POSIX

struct PrivateFileTests {
    @Test func `a private file that is made is there whole or not at all`() async throws {
        let folder = try ScratchDirectory()
        let files = (0..<20).map { PrivateFile(folder.path + "/key-\($0)") }
        let looking = Task.detached {
            let deadline = ContinuousClock.now + .seconds(20)
            return files.map { file in
                while ContinuousClock.now < deadline {
                    if let bytes = try? file.read() { return bytes.count }
                }
                return -1
            }
        }
        for file in files { try file.create([UInt8](repeating: 7, count: 900_000)) }
        #expect(await looking.value == Array(repeating: 900_000, count: 20))
        #expect(FileSystem.names(in: folder.path).filter { $0.hasSuffix(".new") } == [])
    }

    @Test func `private files are replaced whole`() throws {
        let folder = try ScratchDirectory()
        let file = PrivateFile(folder.path + "/tokens.json")
        #expect(try file.read() == nil)
        try file.replace(with: [1, 2, 3])
        try file.replace(with: [UInt8](repeating: 7, count: 100_000))
        #expect(try file.read()?.count == 100_000)
        #expect(try folder.mode(of: "tokens.json") == 0o600)
        #expect(throws: SystemError.self) { try file.create([1]) }
        #expect(throws: SystemError.self) { try PrivateFile(folder.path + "/no/such").replace(with: [1]) }
        #expect(FileSystem.names(in: folder.path).filter { !$0.hasPrefix(".") } == ["tokens.json"])
    }

    @Test func `a file under a chosen name is made once and touches no other name`() throws {
        let folder = try ScratchDirectory()
        try folder.write("the user's own", to: "key.new")
        let file = PrivateFile(folder.file("key"))
        try file.createDirectly([1, 2])
        #expect(try folder.mode(of: "key") == 0o600)
        #expect(try folder.text(of: "key.new") == "the user's own")
        #expect { try file.createDirectly([3]) } throws: { ($0 as? SystemError)?.alreadyExists == true }
        #expect(try file.read() == [1, 2])
    }

    @Test func `directories, FIFOs and endless files are not read as private files`() throws {
        let folder = try ScratchDirectory()
        #expect(throws: SystemError.self) { try PrivateFile(folder.path).read() }
        #expect(throws: SystemError.self) { try PrivateFile("/dev/zero").read() }
        #expect(try FileSystem.read("/dev/zero", limit: 10).isWhole == false)
        try folder.write(String(repeating: "x", count: (1 << 20) + 1), to: "large")
        #expect(throws: SystemError.self) { try PrivateFile(folder.file("large")).read() }
    }

    @Test func `a file is read up to the limit`() throws {
        let folder = try ScratchDirectory()
        try folder.write("12345", to: "f")
        #expect(try FileSystem.read(folder.file("f"), limit: 5).isWhole)
        let start = try FileSystem.read(folder.file("f"), limit: 4)
        #expect(!start.isWhole)
        #expect(start.bytes == Array("1234".utf8))
        #expect(start.facts.size == 5)
    }

    @Test func `appending refuses links and closes a file that others could read`() throws {
        let folder = try ScratchDirectory()
        try folder.write("a\n", to: "log", mode: 0o644)
        try OpenFile.appending(to: folder.file("log")).write(Array("b\n".utf8))
        #expect(try folder.text(of: "log") == "a\nb\n")
        #expect(try folder.mode(of: "log") == 0o600)
        #expect(throws: SystemError.self) { try OpenFile.appending(to: "/dev/stdout") }
        #expect(throws: SystemError.self) { try OpenFile.appending(to: folder.path) }
    }

    @Test func `a lock belongs to one holder and its file stays`() throws {
        let folder = try ScratchDirectory()
        let path = folder.file("lock")
        let lock = try FileLock(path)
        try lock.write("a longer text\n")
        try lock.write("12\n")
        #expect { try FileLock(path) } throws: { ($0 as? SystemError)?.wouldBlock == true }
        lock.release()
        #expect(try folder.text(of: "lock") == "12\n")
        _ = try FileLock(path)
    }
}
