/// Just enough of an HTTP/2 client to ask a server on a real socket: heads without compression, windows honoured.
package final class HTTP2Client {
    package struct Frame: Equatable {
        package let type: UInt8
        package let flags: UInt8
        package let stream: UInt32
        package let payload: [UInt8]

        package var endsStream: Bool { flags & 1 != 0 && (type == 0 || type == 1) }
    }

    package static let data: UInt8 = 0
    package static let headers: UInt8 = 1
    package static let reset: UInt8 = 3
    package static let settings: UInt8 = 4
    private static let windowUpdate: UInt8 = 8

    package let socket: BlockingSocket
    /// All received stream frames, in order.
    package private(set) var frames: [Frame] = []
    private var unread: [UInt8] = []
    private var connectionWindow = 65_535
    private var windows: [UInt32: Int] = [:]
    private var initialWindow = 65_535

    package init(_ socket: BlockingSocket) throws {
        self.socket = socket
        try socket.send(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
        try send(Self.settings, 0, 0, [])
    }

    package func send(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) throws {
        let length = UInt32(payload.count)
        let head: [UInt8] = [
            UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags,
            UInt8(stream >> 24), UInt8(stream >> 16 & 0xFF), UInt8(stream >> 8 & 0xFF), UInt8(stream & 0xFF),
        ]
        try socket.send(head + payload)
    }

    /// `:method` and `:scheme` from the static table, the rest literally.
    package func request(
        _ method: String,
        _ path: String,
        stream: UInt32,
        ends: Bool = true,
        authority: String = "a",
        _ fields: [(String, String)] = []
    ) throws {
        var block: [UInt8] = [method == "POST" ? 0x83 : 0x82, 0x86]
        if method == "HEAD" { block = Self.literal(":method", "HEAD") + [0x86] }
        for (name, value) in [(":path", path), (":authority", authority)] + fields {
            block += Self.literal(name, value)
        }
        windows[stream] = initialWindow
        try send(Self.headers, ends ? 5 : 4, stream, block)
    }

    private static func literal(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }

    /// Sends as the windows allow; stops early if the stream is answered and reset.
    package func send(body: [UInt8], stream: UInt32) throws {
        var rest = body[...]
        while !rest.isEmpty {
            let count = min(rest.count, 16_384, connectionWindow, windows[stream] ?? 0)
            guard count > 0 else {
                try read()
                if frames.contains(where: { $0.stream == stream && $0.type == Self.reset }) { return }
                continue
            }
            connectionWindow -= count
            windows[stream, default: 0] -= count
            try send(Self.data, rest.count == count ? 1 : 0, stream, Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
    }

    package struct Ended: Error {}

    /// Reads until the frames meet the condition.
    package func wait(until isSo: (HTTP2Client) -> Bool) throws {
        while !isSo(self) { try read() }
    }

    package func answer(_ stream: UInt32) throws -> (status: UInt8?, body: [UInt8]) {
        try wait { client in
            client.frames.contains { $0.stream == stream && ($0.endsStream || $0.type == Self.reset) }
        }
        return (frames.first { $0.stream == stream && $0.type == Self.headers }?.payload.first, body(stream))
    }

    package func body(_ stream: UInt32) -> [UInt8] {
        frames.filter { $0.stream == stream && $0.type == Self.data }.flatMap(\.payload)
    }

    private func read() throws {
        let more = try socket.receive()
        guard !more.isEmpty else { throw Ended() }
        unread += more
        while unread.count >= 9 {
            let length = Int(unread[0]) << 16 | Int(unread[1]) << 8 | Int(unread[2])
            guard unread.count >= 9 + length else { return }
            let stream = unread[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            let frame = Frame(type: unread[3], flags: unread[4], stream: stream, payload: Array(unread[9..<9 + length]))
            unread.removeFirst(9 + length)
            take(frame)
        }
    }

    /// A server that has sent GOAWAY may close before it gets this; its frames are still read.
    private func acknowledge(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []) {
        try? send(type, flags, stream, payload)
    }

    private func take(_ frame: Frame) {
        switch frame.type {
        case Self.settings where frame.flags & 1 == 0:
            for place in stride(from: 0, to: frame.payload.count - 5, by: 6) where frame.payload[place + 1] == 4 {
                let value = frame.payload[(place + 2)..<(place + 6)].reduce(0) { $0 << 8 | Int($1) }
                for stream in windows.keys { windows[stream, default: 0] += value - initialWindow }
                initialWindow = value
            }
            acknowledge(Self.settings, flags: 1)
        case Self.windowUpdate:
            let value = frame.payload.reduce(0) { $0 << 8 | Int($1) }
            if frame.stream == 0 { connectionWindow += value } else { windows[frame.stream, default: 0] += value }
        case Self.data where !frame.payload.isEmpty:
            frames.append(frame)
            let count = UInt32(frame.payload.count)
            let increment = [
                UInt8(count >> 24), UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF),
            ]
            acknowledge(Self.windowUpdate, payload: increment)
            if !frame.endsStream { acknowledge(Self.windowUpdate, stream: frame.stream, payload: increment) }
        default:
            if frame.stream > 0 { frames.append(frame) }
        }
    }
}
