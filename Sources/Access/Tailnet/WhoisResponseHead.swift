/// Just enough of an HTTP/1.1 response head for one trusted local peer; what is unusual is refused, not guessed.
struct WhoisResponseHead {
    enum Framing: Equatable {
        case length(Int)
        case chunked
        case untilEnd
    }

    enum Chunks {
        case complete([UInt8])
        case incomplete
        case malformed
    }

    let status: Int
    let framing: Framing

    init?(_ bytes: ArraySlice<UInt8>) {
        let text = String(decoding: bytes, as: UTF8.self)
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)[...]
        guard let first = lines.popFirst() else { return nil }
        let parts = first.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, parts[0] == "HTTP/1.1" || parts[0] == "HTTP/1.0", parts[1].utf8.count == 3,
            let status = Int(parts[1]), (200..<600).contains(status)
        else { return nil }
        var length: Int?
        var chunked = false
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            switch line[..<colon].lowercased() {
            case "content-length":
                guard length == nil, !value.isEmpty, value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
                    let parsed = Int(value)
                else { return nil }
                length = parsed
            case "transfer-encoding":
                guard !chunked, value.lowercased() == "chunked" else { return nil }
                chunked = true
            default: continue
            }
        }
        guard !chunked || length == nil else { return nil }
        self.status = status
        framing = chunked ? .chunked : length.map(Framing.length) ?? .untilEnd
    }

    /// RFC 9112 §7.1; trailers are skipped.
    static func decodeChunks(_ bytes: ArraySlice<UInt8>) -> Chunks {
        var content: [UInt8] = []
        var rest = bytes
        while true {
            guard let end = rest.firstIndex(of: 10) else { return rest.count > 32 ? .malformed : .incomplete }
            guard end > rest.startIndex, rest[end - 1] == 13 else { return .malformed }
            let digits = rest[rest.startIndex..<end - 1]
            guard (1...6).contains(digits.count), let size = Int(String(decoding: digits, as: UTF8.self), radix: 16),
                size >= 0
            else { return .malformed }
            rest = rest[(end + 1)...]
            if size == 0 { return .complete(content) }
            guard rest.count >= size + 2 else { return .incomplete }
            let data = rest.startIndex..<rest.startIndex + size
            guard rest[data.upperBound] == 13, rest[data.upperBound + 1] == 10 else { return .malformed }
            content.append(contentsOf: rest[data])
            rest = rest[(data.upperBound + 2)...]
        }
    }
}
