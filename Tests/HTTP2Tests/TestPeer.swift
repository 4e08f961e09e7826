import CNGHTTP2
import HTTP2
import HTTPModel
import Testing

/// A client made of frames, connected to a session in memory.
final class TestPeer {
    let session: HTTP2Session
    var now: UInt64 = 1_000_000_000
    private var inflater = HeaderInflater()
    /// The session's events as text: `request 1`, `data 1 5` with the count, `closed 1 CANCEL`.
    private(set) var events: [String] = []
    /// The requests among them, and their bodies.
    private(set) var requests: [HTTP2StreamID: RequestHead] = [:]
    private(set) var bodies: [HTTP2StreamID: [UInt8]] = [:]
    /// All frames that the session sent.
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
        while let event = session.nextEvent() { note(event) }
    }

    private func note(_ event: HTTP2Event) {
        switch event {
        case .request(let stream, let head, let end):
            requests[stream] = head
            events.append("request \(stream)\(end ? " whole" : "")")
        case .refused(let stream, let refusal): events.append("refused \(stream) \(refusal)")
        case .data(let stream, let bytes):
            bodies[stream, default: []] += bytes
            events.append("data \(stream) \(bytes.count)")
        case .end(let stream): events.append("end \(stream)")
        case .drained(let stream): events.append("drained \(stream)")
        case .closed(let stream, let code): events.append("closed \(stream) \(code)")
        case .goingAway(let code): events.append("going away \(code)")
        case .failed(let code, let abuse): events.append("failed \(code) \(abuse?.rawValue ?? "-")")
        }
    }

    /// Events since the last call.
    func takeEvents() -> [String] {
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

    func isRequest(_ event: String?) -> Bool {
        event?.hasPrefix("request") == true
    }

    func respond(_ stream: Int32, _ status: Int, _ fields: [(String, String)] = [], end: Bool) {
        var head = ResponseHead(HTTPStatus(status))
        for (name, value) in fields { head.fields.append(name, value) }
        session.respond(stream, head, end: end)
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

extension RequestHead {
    var lines: [String] {
        ["\(method.name) \(target) \(version.name)"]
            + fields.indices.map { index in
                "\(fields.name(at: index)): \(String(decoding: fields.value(at: index), as: UTF8.self))"
            }
    }
}
