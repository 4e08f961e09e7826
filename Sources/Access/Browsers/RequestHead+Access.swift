package import HTTPModel

/// The header fields that the access rules read, as they were sent.
extension RequestHead {
    /// The groups of `Content-Type` values that browsers treat differently.
    package enum BodyKind: Sendable, Equatable {
        /// No body and no type.
        case none
        /// A type a page may send to any site without asking first: form, multipart, plain text, or a body without
        /// type.
        case simple
        /// Any other type, which a page on another site may only send after a preflight.
        case other
    }

    /// Every `Host` value; for HTTP/2 the `:authority`, and a `Host` that differs from it as a second value.
    package var hosts: [String] { values(of: .host) }
    package var authorization: [String] { values(of: .authorization) }
    var origins: [String] { values(of: .origin) }

    /// The `ticket` query parameter.
    package var ticket: String? { query == nil ? nil : (try? queryItems())?["ticket"] }

    /// RFC 9110 §9.2.1.
    var isSafe: Bool { method == .get || method == .head || method == .options }

    package var bodyKind: BodyKind {
        guard let type = fields[.contentType] else {
            let length = fields[.contentLength]
            let isEmpty =
                (length == nil || length?.elementsEqual([0x30]) == true) && !fields.contains(.transferEncoding)
            return isEmpty ? .none : .simple
        }
        switch (try? MediaType(parsing: type))?.essence {
        case nil, "application/x-www-form-urlencoded", "multipart/form-data", "text/plain": return .simple
        default: return .other
        }
    }

    /// True if any field name is one of `ForwardingHeaders`.
    var isForwarded: Bool {
        fields.indices.contains { index in
            switch fields.slots[index].name {
            case .forwarded, .via, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xRealIP, .tailscaleUserLogin,
                .tailscaleUserName, .tailscaleUserProfilePic, .tailscaleFunnelRequest:
                true
            case .other: ForwardingHeaders.contains(fields.name(at: index).lowercased())
            default: false
            }
        }
    }

    /// The fields of `tailscale serve`; nil if it sent none.
    package var serve: ServeHeaders? {
        let isFunnel = fields.contains(.tailscaleFunnelRequest)
        let logins = values(of: .tailscaleUserLogin)
        guard isFunnel || !logins.isEmpty else { return nil }
        // Serve sets the field once; two of them mean that the client sent one itself.
        let login = logins.count > 1 ? "" : logins.first
        return ServeHeaders(login: login, forwardedFor: values(of: .xForwardedFor), isFunnel: isFunnel)
    }

    private func values(of name: FieldName) -> [String] {
        fields.slots.lazy.filter { $0.name == name }.map {
            String(decoding: fields.bytes[$0.valueRange], as: UTF8.self)
        }
    }
}

/// The fields with which proxies mark forwarded requests. The connection's identity is then the proxy's, and proves
/// nothing about the client.
package enum ForwardingHeaders {
    /// - Parameter name: in lower case.
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
