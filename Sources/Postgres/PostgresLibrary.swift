import CPostgres
package import SQL

/// libpq, loaded with the first use.
package enum PostgresLibrary {
    package static func load() throws(SQLError) {
        var reason = [CChar](repeating: 0, count: 256)
        guard unsafe cpostgres_load(&reason, reason.count) != 0 else { return }
        let text = String(decoding: reason.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        throw SQLError(.cannotOpen, code: missing, message: text)
    }

    /// The code of the error that the library is not there.
    package static let missing = "libpq"
}
