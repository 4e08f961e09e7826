/// One response field of the CORS protocol.
package struct CORSField: Equatable, Sendable {
    package let name: String
    package let value: String

    /// Caches must not serve an answer for one origin to another.
    package static let vary = [CORSField(name: "vary", value: "Origin")]

    /// Never `*` and never credentials: pages authenticate by token or ticket.
    static func answer(_ origin: String) -> [CORSField] {
        [
            CORSField(name: "access-control-allow-origin", value: origin),
            CORSField(
                name: "access-control-expose-headers",
                value: "ETag, Location, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed, "
                    + "Preference-Applied, Ladle-Version"
            ),
        ] + vary
    }

    static func preflight(_ origin: String, privateNetwork: Bool) -> [CORSField] {
        var fields = [
            CORSField(name: "access-control-allow-origin", value: origin),
            CORSField(name: "access-control-allow-methods", value: "GET, HEAD, POST, PUT, PATCH, DELETE"),
            CORSField(
                name: "access-control-allow-headers",
                value: "Accept, Authorization, Cache-Control, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
                    + "Last-Event-ID, Prefer"
            ),
            CORSField(name: "access-control-max-age", value: "600"),
            CORSField(
                name: "vary",
                value: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
            ),
        ]
        if privateNetwork {
            fields.append(CORSField(name: "access-control-allow-private-network", value: "true"))
        }
        return fields
    }
}
