import CNGHTTP2
import HTTP2
import Testing

/// A client made of frames, joined to a session by memory.
final class TestPeer {
    let session: HTTP2Session
    var now: UInt64 = 1_000_000_000
    private var inflater = HeaderInflater()
    private(set) var events: [HTTP2Event] = []
    /// What the session sent, all of it.
    private(set) var frames: [Frame] = []
    /// The field blocks among them, in order.
    private(set) var heads: [[String]] = []

    init(limits: HTTP2Limits = .standard, preface: Bool = true) throws {
        session = try HTTP2Session(limits: limits)
        if preface { try send(bytes: Frame.preface + Frame(.settings, flags: Frame.ack).bytes) }
    }

    func send(_ frames: Frame...) throws {
        try send(bytes: frames.flatMap(\.bytes))
    }

    /// Gives the bytes to the session in pieces of `size` and takes all output.
    func send(bytes: [UInt8], size: Int = .max) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            try session.receive(Array(rest.prefix(size)), now: now)
            rest = rest.dropFirst(size)
            try flush()
        }
    }

    func flush() throws {
        var output: [UInt8] = []
        try session.takeOutput(into: &output, now: now)
        let new = Frame.parse(output)
        for frame in new where frame.kind == .headers { heads.append(inflater.inflate(frame.payload)) }
        frames += new
        events += session.takeEvents()
    }

    /// Events since the last call.
    func takeEvents() -> [HTTP2Event] {
        defer { events = [] }
        return events
    }

    func takeFrames() -> [Frame] {
        defer { frames = [] }
        return frames
    }

    var goAway: HTTP2ErrorCode? { frames.last { $0.kind == .goAway }?.code }

    func reset(of stream: UInt32) -> HTTP2ErrorCode? {
        frames.last { $0.kind == .reset && $0.stream == stream }?.code
    }

    func body(of stream: UInt32) -> [UInt8] {
        frames.filter { $0.kind == .data && $0.stream == stream }.flatMap(\.payload)
    }

    func isRequest(_ event: HTTP2Event?) -> Bool {
        if case .request? = event { true } else { false }
    }
}

/// Reads the session's compressed heads with the library's own decoder.
@safe final class HeaderInflater {
    private var inflater: OpaquePointer?

    init() {
        unsafe nghttp2_hd_inflate_new(&inflater)
    }

    deinit {
        unsafe nghttp2_hd_inflate_del(inflater)
    }

    /// Each field as `name: value`.
    func inflate(_ block: [UInt8]) -> [String] {
        var lines: [String] = []
        unsafe block.withUnsafeBufferPointer { buffer in
            var position = 0
            while true {
                var field = unsafe nghttp2_nv()
                var flags: Int32 = 0
                let used = unsafe nghttp2_hd_inflate_hd2(
                    inflater,
                    &field,
                    &flags,
                    buffer.baseAddress.map { unsafe $0 + position },
                    buffer.count - position,
                    1
                )
                guard used >= 0 else { return }
                position += used
                if flags & 2 != 0 {
                    let name = unsafe UnsafeBufferPointer(start: field.name, count: field.namelen)
                    let value = unsafe UnsafeBufferPointer(start: field.value, count: field.valuelen)
                    unsafe lines.append(
                        "\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))"
                    )
                }
                if flags & 1 != 0 || used == 0 && flags & 2 == 0 {
                    unsafe nghttp2_hd_inflate_end_headers(inflater)
                    return
                }
            }
        }
        return lines
    }
}

extension HTTP2RequestHead {
    var lines: [String] {
        func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
        return ["\(text(method)) \(text(scheme)) \(text(authority)) \(text(path))"]
            + (0..<fields.count).map { "\(text(fields[$0].name)): \(text(fields[$0].value))" }
    }
}

extension HTTP2Fields {
    init(_ lines: [(String, String)]) {
        self.init()
        for (name, value) in lines { append(name: name.utf8, value: value.utf8) }
    }
}
