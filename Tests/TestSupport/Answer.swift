package import JSONBytes

/// The parts of an HTTP answer that tests check.
package struct Answer: CustomStringConvertible {
    package let status: Int
    package let fields: [(name: String, value: String)]
    package let body: String

    package init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = String(decoding: body, as: UTF8.self)
    }

    /// Parses the bytes of an HTTP/1 connection that ended with the answer.
    package init(_ bytes: [UInt8]) {
        let end = bytes.indices.first { bytes[$0...].starts(with: "\r\n\r\n".utf8) } ?? bytes.endIndex
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            fields.append((String(parts[0]), String((parts.last ?? "").drop { $0 == " " })))
        }
        let rest = Array(bytes.dropFirst(end + 4))
        let isChunked = fields.contains { $0.name.lowercased() == "transfer-encoding" && $0.value == "chunked" }
        self.init(
            status: Int(lines.first?.split(separator: " ").dropFirst().first ?? "") ?? 0,
            fields: fields,
            body: isChunked ? Self.joined(rest) : rest
        )
    }

    /// The pieces of a chunked body.
    private static func joined(_ chunks: [UInt8]) -> [UInt8] {
        var rest = chunks[...]
        var body: [UInt8] = []
        while let end = rest.firstIndex(of: 0x0D),
            let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16),
            size > 0
        {
            body += rest.dropFirst(end + 2 - rest.startIndex).prefix(size)
            rest = rest.dropFirst(end + 4 - rest.startIndex + size)
        }
        return body
    }

    package func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The body; an empty object if it is not JSON, so that each expectation fails on its own.
    package var json: JSONValue {
        if let value = try? JSONDocument(parsing: Array(body.utf8)).root { return value }
        guard let empty = try? JSONDocument(parsing: Array("{}".utf8)).root else { preconditionFailure("no JSON") }
        return empty
    }

    /// A string member of the body.
    package subscript(member: String) -> String? { json[member]?.string }

    package var description: String {
        fields.reduce("\(status)\n") { "\($0)\($1.name): \($1.value)\n" } + "\n\(body)"
    }
}
