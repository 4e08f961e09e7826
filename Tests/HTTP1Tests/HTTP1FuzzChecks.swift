import HTTP1
import HTTPModel

/// Properties that hold for any bytes. Shared by the fuzz drivers and the tests that replay their findings.
enum HTTP1RequestCheck {
    /// The first byte chooses the cuts; the rest is the stream.
    static func problem(with bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let stream = Array(bytes.dropFirst())
        let limits = HTTP1Limits(
            requestLine: 256,
            fieldBlock: 512,
            fieldCount: 8,
            body: 1024,
            chunkExtensions: 32,
            trailer: 64
        )
        let whole = RequestTranscript(stream, limits: limits)
        if whole.taken > stream.count { return "took more than there was" }
        if whole.refusal == nil, whole.taken != stream.count { return "stopped without a refusal" }
        for request in whole.requests {
            if request.body.count > limits.body { return "a body above its limit" }
            if case .other = request.method { return "an unknown method was taken" }
            if request.target.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) { return "a bad target was taken" }
            if request.fields.contains(where: { $0.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } }) {
                return "a control byte in a field"
            }
        }
        let cut = stream.isEmpty ? 0 : Int(first) % stream.count
        let parts = RequestTranscript(stream, cuts: [cut], limits: limits, keepingCapacity: false)
        if parts.requests != whole.requests || parts.refusal != whole.refusal {
            return "a cut at \(cut) changes the outcome"
        }
        // Expensive, so not for every input.
        if first % 4 == 0, stream.count > 1 {
            let bytewise = RequestTranscript(stream, cuts: Array(1..<stream.count), limits: limits)
            if bytewise.requests != whole.requests || bytewise.refusal != whole.refusal {
                return "byte by byte differs"
            }
        }
        return nil
    }
}

enum HTTP1ResponseCheck {
    struct Outcome: Equatable {
        var status: Int?
        var fields: [String] = []
        var body: [UInt8] = []
        var refusal: HTTP1ParseError?
    }

    static func problem(with bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let stream = Array(bytes.dropFirst())
        let method: HTTPMethod = first & 1 == 0 ? .get : .head
        let whole = parse(stream, method, cuts: [])
        if whole.body.count > limits.body { return "a body above its limit" }
        if method == .head, !whole.body.isEmpty { return "HEAD with a body" }
        let cut = stream.isEmpty ? 0 : Int(first) % stream.count
        if parse(stream, method, cuts: [cut]) != whole { return "a cut at \(cut) changes the outcome" }
        if first % 4 == 0, stream.count > 1, parse(stream, method, cuts: Array(1..<stream.count)) != whole {
            return "byte by byte differs"
        }
        return nil
    }

    private static let limits = HTTP1Limits(
        requestLine: 256,
        fieldBlock: 512,
        fieldCount: 8,
        body: 1024,
        chunkExtensions: 32,
        trailer: 64
    )

    private static func parse(_ bytes: [UInt8], _ method: HTTPMethod, cuts: [Int]) -> Outcome {
        var parser = HTTP1ResponseParser(requestMethod: method, limits: limits)
        var outcome = Outcome()
        var start = 0
        do throws(HTTP1ParseError) {
            for cut in cuts + [bytes.count] {
                let piece = bytes.span.extracting(start..<cut)
                start = cut
                var offset = 0
                pieces: while true {
                    switch try parser.next(in: piece, from: &offset) {
                    case .needMore, .end: break pieces
                    case .head:
                        outcome.status = Int(parser.head.status.code)
                        outcome.fields = parser.head.fields.indices.map { parser.head.fields.name(at: $0) }
                    case .body(let range): for index in range { outcome.body.append(piece[index]) }
                    }
                }
            }
            _ = try parser.receiveEnd()
        } catch {
            outcome.refusal = error
        }
        return outcome
    }
}

enum HTTP1ChunkedCheck {
    static func problem(with bytes: [UInt8]) -> String? {
        let whole = decode(bytes, step: bytes.count)
        if decode(bytes, step: 1) != whole { return "byte by byte differs" }
        if decode(bytes, step: 7) != whole { return "in sevens differs" }
        // Decoded bytes, encoded again, decode to the same bytes.
        var encoded: [UInt8] = []
        HTTP1Encoder.appendChunk(bytes, to: &encoded)
        encoded += HTTP1Encoder.lastChunk
        let again = decode(encoded, step: encoded.count)
        if again.data != bytes || !again.done { return "encoding and decoding are not inverse" }
        return nil
    }

    struct Outcome: Equatable {
        var data: [UInt8] = []
        var done = false
        var refusal: HTTP1ParseError?
        var taken = 0
    }

    private static func decode(_ bytes: [UInt8], step: Int) -> Outcome {
        var decoder = HTTP1ChunkedDecoder()
        var outcome = Outcome()
        var start = 0
        do throws(HTTP1ParseError) {
            while start < bytes.count, !decoder.isDone {
                let piece = bytes.span.extracting(start..<min(start + max(step, 1), bytes.count))
                var offset = 0
                pieces: while true {
                    switch try decoder.next(in: piece, from: &offset, bodyLimit: 8192, limits: .server) {
                    case .needMore, .end: break pieces
                    case .data(let range): for index in range { outcome.data.append(piece[index]) }
                    }
                }
                start += offset
            }
            outcome.taken = start
        } catch {
            outcome.refusal = error
        }
        outcome.done = decoder.isDone
        return outcome
    }
}
