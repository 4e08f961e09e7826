import SQL

/// The values of one statement in the protocol's binary form, one after the other.
struct PostgresParameters {
    private(set) var types: [UInt32] = []
    /// Minus one for the absence of a value.
    private(set) var lengths: [Int32] = []
    /// With a byte behind each value, so that an empty one has a place too.
    private(set) var bytes: [UInt8] = []

    init(_ values: [SQLValue]) {
        types.reserveCapacity(values.count)
        lengths.reserveCapacity(values.count)
        for value in values { append(value) }
    }

    private mutating func append(_ value: SQLValue) {
        switch value {
        case .integer(let value): append(UInt64(bitPattern: value), as: .integer)
        case .real(let value): append(value.bitPattern, as: .real)
        case .text(let value): append(value)
        case .bytes(let value): append(value, as: .bytes)
        case .null(let type):
            types.append(type.postgres)
            lengths.append(-1)
        }
    }

    private mutating func append(_ value: UInt64, as type: SQLType) {
        append((0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }, as: type)
    }

    /// The engine's text has no U+0000.
    private mutating func append(_ value: String) {
        guard value.utf8.contains(0) else { return append(value.utf8, as: .text) }
        append(
            String(String.UnicodeScalarView(value.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 })).utf8,
            as: .text
        )
    }

    private mutating func append(_ value: some Collection<UInt8>, as type: SQLType) {
        types.append(type.postgres)
        lengths.append(Int32(clamping: value.count))
        bytes += value
        bytes.append(0)
    }

    /// Calls `body` with the addresses of the values, as libpq takes them.
    func withAddresses<Result>(_ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
                var next = 0
                let addresses = unsafe lengths.map { length -> UnsafePointer<CChar>? in
                    guard length >= 0, let start = buffer.baseAddress else { return nil }
                    defer { next += Int(length) + 1 }
                    return unsafe start + next
                }
                return unsafe body(addresses)
            }
        }
    }
}

extension SQLType {
    /// As the server numbers its own types.
    fileprivate var postgres: UInt32 {
        switch self {
        case .integer: 20
        case .real: 701
        case .text: 25
        case .bytes: 17
        }
    }
}
