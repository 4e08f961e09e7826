/// A header field name that Ladle reads or writes; every other name is `.other`.
package enum FieldName: UInt8, CaseIterable, Sendable {
    case other
    case accept, acceptEncoding, acceptLanguage, acceptRanges
    case accessControlAllowHeaders, accessControlAllowMethods, accessControlAllowOrigin
    case accessControlAllowPrivateNetwork, accessControlExposeHeaders, accessControlMaxAge
    case accessControlRequestHeaders, accessControlRequestMethod, accessControlRequestPrivateNetwork
    case allow, authorization, cacheControl, connection
    case contentEncoding, contentLength, contentLocation, contentSecurityPolicy, contentType, contentDisposition
    case cookie, date, deprecation, etag, expect, forwarded, host
    case idempotencyKey, idempotencyReplayed, ifMatch, ifModifiedSince, ifNoneMatch, ifUnmodifiedSince
    case keepAlive, ladleVersion, lastEventID, lastModified, link, location, origin, prefer, preferenceApplied
    case proxyConnection, range, rateLimit, rateLimitPolicy, referer, requestID, retryAfter
    case secFetchDest, secFetchMode, secFetchSite
    case secWebSocketAccept, secWebSocketExtensions, secWebSocketKey, secWebSocketProtocol, secWebSocketVersion
    case server, serverTiming
    case tailscaleFunnelRequest, tailscaleUserLogin, tailscaleUserName, tailscaleUserProfilePic
    case te, traceparent, trailer, transferEncoding, upgrade, userAgent, vary, via, wwwAuthenticate
    case xAccelBuffering, xContentTypeOptions, xForwardedFor, xForwardedHost, xForwardedProto, xRealIP

    /// The usual spelling; empty for `.other`.
    package var canonical: String {
        switch self {
        case .other: ""
        case .accept: "Accept"
        case .acceptEncoding: "Accept-Encoding"
        case .acceptLanguage: "Accept-Language"
        case .acceptRanges: "Accept-Ranges"
        case .accessControlAllowHeaders: "Access-Control-Allow-Headers"
        case .accessControlAllowMethods: "Access-Control-Allow-Methods"
        case .accessControlAllowOrigin: "Access-Control-Allow-Origin"
        case .accessControlAllowPrivateNetwork: "Access-Control-Allow-Private-Network"
        case .accessControlExposeHeaders: "Access-Control-Expose-Headers"
        case .accessControlMaxAge: "Access-Control-Max-Age"
        case .accessControlRequestHeaders: "Access-Control-Request-Headers"
        case .accessControlRequestMethod: "Access-Control-Request-Method"
        case .accessControlRequestPrivateNetwork: "Access-Control-Request-Private-Network"
        case .allow: "Allow"
        case .authorization: "Authorization"
        case .cacheControl: "Cache-Control"
        case .connection: "Connection"
        case .contentDisposition: "Content-Disposition"
        case .contentEncoding: "Content-Encoding"
        case .contentLength: "Content-Length"
        case .contentLocation: "Content-Location"
        case .contentSecurityPolicy: "Content-Security-Policy"
        case .contentType: "Content-Type"
        case .cookie: "Cookie"
        case .date: "Date"
        case .deprecation: "Deprecation"
        case .etag: "ETag"
        case .expect: "Expect"
        case .forwarded: "Forwarded"
        case .host: "Host"
        case .idempotencyKey: "Idempotency-Key"
        case .idempotencyReplayed: "Idempotency-Replayed"
        case .ifMatch: "If-Match"
        case .ifModifiedSince: "If-Modified-Since"
        case .ifNoneMatch: "If-None-Match"
        case .ifUnmodifiedSince: "If-Unmodified-Since"
        case .keepAlive: "Keep-Alive"
        case .ladleVersion: "Ladle-Version"
        case .lastEventID: "Last-Event-ID"
        case .lastModified: "Last-Modified"
        case .link: "Link"
        case .location: "Location"
        case .origin: "Origin"
        case .prefer: "Prefer"
        case .preferenceApplied: "Preference-Applied"
        case .proxyConnection: "Proxy-Connection"
        case .range: "Range"
        case .rateLimit: "RateLimit"
        case .rateLimitPolicy: "RateLimit-Policy"
        case .referer: "Referer"
        case .requestID: "Request-Id"
        case .retryAfter: "Retry-After"
        case .secFetchDest: "Sec-Fetch-Dest"
        case .secFetchMode: "Sec-Fetch-Mode"
        case .secFetchSite: "Sec-Fetch-Site"
        case .secWebSocketAccept: "Sec-WebSocket-Accept"
        case .secWebSocketExtensions: "Sec-WebSocket-Extensions"
        case .secWebSocketKey: "Sec-WebSocket-Key"
        case .secWebSocketProtocol: "Sec-WebSocket-Protocol"
        case .secWebSocketVersion: "Sec-WebSocket-Version"
        case .server: "Server"
        case .serverTiming: "Server-Timing"
        case .tailscaleFunnelRequest: "Tailscale-Funnel-Request"
        case .tailscaleUserLogin: "Tailscale-User-Login"
        case .tailscaleUserName: "Tailscale-User-Name"
        case .tailscaleUserProfilePic: "Tailscale-User-Profile-Pic"
        case .te: "TE"
        case .traceparent: "Traceparent"
        case .trailer: "Trailer"
        case .transferEncoding: "Transfer-Encoding"
        case .upgrade: "Upgrade"
        case .userAgent: "User-Agent"
        case .vary: "Vary"
        case .via: "Via"
        case .wwwAuthenticate: "WWW-Authenticate"
        case .xAccelBuffering: "X-Accel-Buffering"
        case .xContentTypeOptions: "X-Content-Type-Options"
        case .xForwardedFor: "X-Forwarded-For"
        case .xForwardedHost: "X-Forwarded-Host"
        case .xForwardedProto: "X-Forwarded-Proto"
        case .xRealIP: "X-Real-IP"
        }
    }
}
