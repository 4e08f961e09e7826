// Modules: Basics HTTPModel HTTP2. Libraries: nghttp2.
import HTTP2
import HTTPModel

/// The input is a client's bytes after the preface, cut as its own first byte says, and answered at once.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard count > 1, let session = try? HTTP2Session() else { return 0 }
    let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    let size = Int(input[0]) + 1
    var now: UInt64 = 0
    var open: Set<HTTP2StreamID> = []
    var output: [UInt8] = []
    func turn(_ piece: [UInt8]) throws {
        now += 1_000_000
        try session.receive(piece, now: now)
        while let event = session.nextEvent() { handle(event) }
        output.removeAll(keepingCapacity: true)
        try session.takeOutput(into: &output, limit: 20_000, now: now)
        while let event = session.nextEvent() { handle(event) }
    }
    func handle(_ event: HTTP2Event) {
        switch event {
        case .request(let stream, let head, _):
            precondition(open.insert(stream).inserted, "a stream was announced twice")
            precondition(head.fields.contains(.host), "a request without its authority")
            session.respond(stream, ResponseHead(.ok, contentType: "text/plain"), end: stream % 4 == 1)
            session.send(input, on: stream, end: stream % 8 == 3)
        case .refused(let stream, _):
            precondition(open.insert(stream).inserted, "a stream was announced twice")
            session.respond(stream, ResponseHead(.headerFieldsTooLarge), end: true)
        case .data(let stream, let bytes):
            precondition(open.contains(stream), "data of an unknown stream")
            session.consume(bytes.count, on: stream)
        case .end(let stream), .drained(let stream):
            precondition(open.contains(stream), "an event of an unknown stream")
        case .closed(let stream, _):
            precondition(open.remove(stream) != nil, "the end of an unknown stream")
        case .goingAway, .failed: break
        }
    }
    do {
        try turn(HTTP2Preface.bytes + [0, 0, 0, 4, 0, 0, 0, 0, 0])
        var rest = input.dropFirst()
        while !rest.isEmpty, !session.isFinished {
            try turn(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
    } catch {}
    return 0
}
