import HTTP1
package import HTTPModel

/// The client's half of one call of tailscaled's local API: bytes in, an answer out.
///
/// The edge connects to tailscaled's socket, writes the request, feeds what comes and ends with `receiveEnd()` or gives up after
/// `deadlineMilliseconds`.
package struct TailscaledExchange: Sendable {
    package enum Answer: Sendable, Equatable {
        case complete(HTTPStatus, body: [UInt8])
        case failed(String)
    }

    /// tailscaled answers out of its memory.
    package static let deadlineMilliseconds: Int64 = 2000
    /// An answer is a few kilobytes; capability maps make some larger.
    private static let limits = HTTP1Limits(fieldBlock: 16 << 10, fieldCount: 100, body: 512 << 10)

    private var parser = HTTP1ResponseParser(requestMethod: .get, limits: Self.limits)
    private var body: [UInt8] = []
    private var answer: Answer?

    package init() {}

    /// HTTP/1.1 to the local API. `Connection: close` lets the end of stream bound the answer.
    package static func request(_ target: String) -> [UInt8] {
        Array(
            """
            GET /localapi/v0/\(target) HTTP/1.1\r
            Host: local-tailscaled.sock\r
            Accept: application/json\r
            Connection: close\r
            \r

            """.utf8
        )
    }

    /// The answer as soon as it is complete; later bytes change nothing.
    package mutating func receive(_ chunk: some Collection<UInt8>) -> Answer? {
        if let answer { return answer }
        let input = Array(chunk)
        var offset = 0
        do throws(HTTP1ParseError) {
            while true {
                switch try parser.next(in: input.span, from: &offset) {
                case .needMore: return nil
                case .head: continue
                case .body(let range): body += input[range]
                case .end: return finish(.complete(parser.head.status, body: body))
                }
            }
        } catch {
            return finish(.failed("the answer of tailscaled: \(error.text)"))
        }
    }

    package mutating func receiveEnd() -> Answer {
        if let answer { return answer }
        let isComplete = (try? parser.receiveEnd()) ?? false
        return finish(isComplete ? .complete(parser.head.status, body: body) : .failed("the answer is cut short"))
    }

    private mutating func finish(_ value: Answer) -> Answer {
        answer = value
        body = []
        return value
    }
}
