/// The header fields of a request that the access rules read, as they were sent.
package struct RequestFacts: Sendable, Equatable {
    package enum Version: Sendable, Equatable {
        case http10, http11, http2
    }

    /// The groups of `Content-Type` values that browsers treat differently.
    package enum Body: Sendable, Equatable {
        /// No body and no type.
        case none
        /// A type a page may send to any site without asking first: form, multipart, plain text, or a body without
        /// type.
        case simple
        /// Anything else; a page on another site must ask by preflight before it can send it.
        case other

        /// From the media type's essence in lower case (`text/plain`), or nil without one.
        package init(mediaType: String?, hasBody: Bool) {
            switch mediaType {
            case nil: self = hasBody ? .simple : .none
            case "application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "": self = .simple
            default: self = .other
            }
        }
    }

    package var method: String
    package var version: Version
    /// Every `Host` value; for HTTP/2 the `:authority`, and a `Host` that differs from it as a second value.
    package var hosts: [String]
    package var origins: [String]
    package var hasReferer: Bool
    package var fetchSite: String?
    package var fetchMode: String?
    package var fetchDestination: String?
    package var body: Body
    /// `Access-Control-Request-Method`, whose presence makes an OPTIONS a preflight.
    package var requestedMethod: String?
    package var requestsPrivateNetwork: Bool
    package var authorization: [String]
    /// The `ticket` query parameter.
    package var ticket: String?
    package var path: String
    /// True when any field name is one of `ForwardingHeaders`.
    package var isForwarded: Bool
    package var serve: ServeHeaders?

    package init(
        method: String,
        version: Version = .http11,
        hosts: [String],
        origins: [String] = [],
        hasReferer: Bool = false,
        fetchSite: String? = nil,
        fetchMode: String? = nil,
        fetchDestination: String? = nil,
        body: Body = .none,
        requestedMethod: String? = nil,
        requestsPrivateNetwork: Bool = false,
        authorization: [String] = [],
        ticket: String? = nil,
        path: String = "/",
        isForwarded: Bool = false,
        serve: ServeHeaders? = nil
    ) {
        self.method = method
        self.version = version
        self.hosts = hosts
        self.origins = origins
        self.hasReferer = hasReferer
        self.fetchSite = fetchSite
        self.fetchMode = fetchMode
        self.fetchDestination = fetchDestination
        self.body = body
        self.requestedMethod = requestedMethod
        self.requestsPrivateNetwork = requestsPrivateNetwork
        self.authorization = authorization
        self.ticket = ticket
        self.path = path
        self.isForwarded = isForwarded
        self.serve = serve
    }

    /// RFC 9110 §9.2.1.
    package var isSafe: Bool { method == "GET" || method == "HEAD" || method == "OPTIONS" }
}

/// The fields with which proxies mark forwarded requests. The identity of such a connection is the proxy's, and proves
/// nothing about the client.
package enum ForwardingHeaders {
    /// `name` in lower case.
    package static func contains(_ name: some StringProtocol) -> Bool {
        switch name.utf8.first {
        case UInt8(ascii: "f"): name == "forwarded"
        case UInt8(ascii: "v"): name == "via"
        case UInt8(ascii: "x"): name.hasPrefix("x-forwarded-") || name == "x-real-ip"
        case UInt8(ascii: "t"): name.hasPrefix("tailscale-")
        default: false
        }
    }
}
