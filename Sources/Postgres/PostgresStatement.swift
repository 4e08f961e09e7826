/// A text with `?` or `?3` for its values, as the server reads it.
enum PostgresStatement {
    static func text(_ sql: String) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(sql.utf8.count + 16)
        var count = 0
        var isQuoted = false
        var bytes = sql.utf8[...]
        while let byte = bytes.popFirst() {
            if byte == UInt8(ascii: "'") { isQuoted.toggle() }
            guard byte == UInt8(ascii: "?"), !isQuoted else {
                text.append(byte)
                continue
            }
            text.append(UInt8(ascii: "$"))
            let digits = bytes.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            if digits.isEmpty {
                count += 1
                text += Array("\(count)".utf8)
            } else {
                text += Array(digits)
                bytes = bytes.dropFirst(digits.count)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
