import Basics

/// A request to Ladle's own API.
package struct BrokerRequest: Sendable, Equatable {
    package enum Method: String, Sendable {
        case post = "POST"
        case patch = "PATCH"
    }

    package let method: Method
    /// Percent-encoded, without a query.
    package let path: String
    package let contentType: String?
    package let body: [UInt8]
    /// The value of `If-Match`, where the operation wants one.
    package let ifMatch: String?
    /// Whether the operation takes an `Idempotency-Key`.
    package let takesKey: Bool

    init(
        _ method: Method,
        _ path: String,
        contentType: String? = nil,
        body: [UInt8] = [],
        ifMatch: String? = nil,
        takesKey: Bool = false
    ) {
        self.method = method
        self.path = path
        self.contentType = contentType
        self.body = body
        self.ifMatch = ifMatch
        self.takesKey = takesKey
    }

    package static func abort(run id: String) -> BrokerRequest {
        BrokerRequest(.post, "/v1/runs/\(segment(id))/abort")
    }

    package static func abort(session key: String) -> BrokerRequest {
        BrokerRequest(.post, "/v1/sessions/\(segment(key))/abort")
    }

    package static func retry(entry id: String) -> BrokerRequest {
        BrokerRequest(.post, "/v1/outbox/\(segment(id))/retry")
    }

    package static func deny(approval id: String) -> BrokerRequest {
        decide(approval: id, body: Array(#"{"decision":"deny"}"#.utf8))
    }

    static func decide(approval id: String, body: [UInt8]) -> BrokerRequest {
        BrokerRequest(.post, "/v1/approvals/\(segment(id))", contentType: "application/json", body: body)
    }

    static func send(body: [UInt8]) -> BrokerRequest {
        BrokerRequest(.post, "/v1/messages", contentType: "application/json", body: body, takesKey: true)
    }

    static func change(session key: String, body: [UInt8]) -> BrokerRequest {
        BrokerRequest(
            .patch,
            "/v1/sessions/\(segment(key))",
            contentType: "application/merge-patch+json",
            body: body,
            ifMatch: "*"
        )
    }

    /// A path segment of RFC 3986 in which only unreserved characters stand for themselves. Dots alone are escaped
    /// too: they would mean another path.
    private static func segment(_ text: String) -> String {
        let isDots = text.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            let isMark = [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~")].contains(byte)
            if byte.isASCIIDigit || byte.isASCIILetter || (isMark && !isDots) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                Hex.append(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
