import HTTP2

/// A frame as the tests write and read it.
struct Frame: Equatable, CustomStringConvertible {
    enum Kind: UInt8 {
        case data = 0
        case headers, priority, reset, settings, push, ping, goAway, windowUpdate, continuation
    }

    var type: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    static let endStream: UInt8 = 1
    static let ack: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8
    static let withPriority: UInt8 = 0x20

    init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) {
        self.init(type: kind.rawValue, flags: flags, stream: stream, payload: payload)
    }

    init(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []) {
        self.type = type
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    var kind: Kind? { Kind(rawValue: type) }
    var endsStream: Bool { flags & Self.endStream != 0 }

    var bytes: [UInt8] {
        let length = UInt32(payload.count)
        return [UInt8(length >> 16), UInt8(length >> 8 & 0xff), UInt8(length & 0xff), type, flags] + word(stream)
            + payload
    }

    /// The error code of RST_STREAM and GOAWAY.
    var code: HTTP2ErrorCode? {
        switch kind {
        case .reset: HTTP2ErrorCode(rawValue: readWord(payload[...]))
        case .goAway: HTTP2ErrorCode(rawValue: readWord(payload.dropFirst(4)))
        default: nil
        }
    }

    /// The last stream of GOAWAY, or the increment of WINDOW_UPDATE.
    var number: UInt32 { readWord(payload[...]) }

    var description: String {
        let name = kind.map { "\($0)" } ?? "type \(type)"
        return "\(name) flags=\(flags) stream=\(stream) \(payload.count) bytes"
    }

    static func parse(_ bytes: [UInt8]) -> [Frame] {
        var frames: [Frame] = []
        var rest = bytes[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            frames.append(
                Frame(
                    type: head[3],
                    flags: head[4],
                    stream: readWord(head[5...]) & 0x7fff_ffff,
                    payload: Array(rest.dropFirst(9).prefix(length))
                )
            )
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }
}

func word(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 0xff), UInt8(value >> 8 & 0xff), UInt8(value & 0xff)]
}

func readWord(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
}

/// HPACK with literals only: no table, no Huffman code (RFC 7541 §6.2.2).
func hpack(_ fields: [(String, String)]) -> [UInt8] {
    fields.flatMap { [0x00] + hpackString($0.0) + hpackString($0.1) }
}

func hpackString(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
    var length = bytes.count - 127
    var prefix: [UInt8] = [127]
    while length >= 128 {
        prefix.append(UInt8(length & 0x7f | 0x80))
        length >>= 7
    }
    return prefix + [UInt8(length)] + bytes
}

extension Frame {
    static let preface = HTTP2Preface.bytes + Frame(.settings).bytes
    static let requestFields = [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "ladle.test")]

    /// HEADERS of a whole request head.
    static func request(
        _ stream: UInt32,
        _ fields: [(String, String)] = requestFields,
        end: Bool = true
    ) -> Frame {
        Frame(.headers, flags: endHeaders | (end ? endStream : 0), stream: stream, hpack(fields))
    }

    static func post(_ stream: UInt32, length: Int? = nil) -> Frame {
        var fields = requestFields
        fields[0].1 = "POST"
        if let length { fields.append(("content-length", "\(length)")) }
        return request(stream, fields, end: false)
    }

    static func data(_ stream: UInt32, _ count: Int, end: Bool = false) -> Frame {
        Frame(.data, flags: end ? endStream : 0, stream: stream, [UInt8](repeating: 0x61, count: count))
    }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> Frame {
        Frame(.windowUpdate, stream: stream, word(increment))
    }

    static func setting(_ id: UInt8, _ value: UInt32) -> Frame {
        Frame(.settings, [0, id] + word(value))
    }
}
