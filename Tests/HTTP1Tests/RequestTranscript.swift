import HTTP1
import HTTPModel

/// The output of a parser that is fed like on a connection: piece by piece, the next request right after the previous
/// one.
struct RequestTranscript: Equatable {
    struct Request: Equatable {
        var method: HTTPMethod
        var target: String
        var version: HTTPVersion
        var fields: [String]
        var body: [UInt8] = []
        var isComplete = false
    }

    var requests: [Request] = []
    var refusal: HTTP1ParseError?
    /// Bytes of the input that the parser took.
    var taken = 0

    var completeCount: Int { requests.count { $0.isComplete } }

    /// - Parameter cuts: the offsets at which the input is cut, ascending.
    init(_ bytes: [UInt8], cuts: [Int] = [], limits: HTTP1Limits = .server, keepingCapacity: Bool = true) {
        var parser = HTTP1Parser(limits: limits)
        var start = 0
        for cut in cuts + [bytes.count] {
            receive(bytes.span.extracting(start..<cut), &parser, keepingCapacity)
            start = cut
            if refusal != nil { break }
        }
    }

    private mutating func receive(_ piece: Span<UInt8>, _ parser: inout HTTP1Parser, _ keepingCapacity: Bool) {
        var offset = 0
        defer { taken += offset }
        do throws(HTTP1ParseError) {
            while true {
                switch try parser.next(in: piece, from: &offset) {
                case .needMore:
                    return
                case .head:
                    let head = parser.head
                    requests.append(
                        Request(
                            method: head.method,
                            target: head.target,
                            version: head.version,
                            fields: head.fields.indices.map {
                                "\(head.fields.name(at: $0))=\(String(decoding: head.fields.value(at: $0), as: UTF8.self))"
                            }
                        )
                    )
                case .body(let range):
                    for index in range { requests[requests.count - 1].body.append(piece[index]) }
                case .end:
                    requests[requests.count - 1].isComplete = true
                    parser.startNext(keepingHead: keepingCapacity)
                }
            }
        } catch {
            refusal = error
            // For any further input, the parser repeats the error and takes nothing.
            let good = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            var later = 0
            do throws(HTTP1ParseError) {
                _ = try parser.next(in: good.span, from: &later)
                refusal = nil
            } catch {
                if error != refusal || later != 0 { refusal = nil }
            }
        }
    }
}

extension [UInt8] {
    /// Each character up to U+00FF as one byte.
    init(raw text: String) { self = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}

extension HTTP1Parser {
    /// `next` over an array: the expectation macros take no spans.
    mutating func next(_ input: [UInt8], _ offset: inout Int) throws(HTTP1ParseError) -> Event {
        try next(in: input.span, from: &offset)
    }
}
