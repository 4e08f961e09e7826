import Access
import HTTPModel

extension RequestFacts {
    /// Takes the fields that access rules look at; nothing else is made into text.
    init(of head: RequestHead) {
        var hosts: [String] = []
        var origins: [String] = []
        var authorization: [String] = []
        var hasReferer = false
        var isForwarded = false
        var hasBody = false
        var login: String?
        var forwardedFor: [String] = []
        var isServed = false
        var isFunnel = false
        for index in head.fields.indices {
            switch head.fields.slots[index].name {
            case .host: hosts.append(Self.text(head, index))
            case .origin: origins.append(Self.text(head, index))
            case .authorization: authorization.append(Self.text(head, index))
            case .referer: hasReferer = true
            case .contentLength: hasBody = !head.fields.value(at: index).elementsEqual([0x30])
            case .transferEncoding: hasBody = true
            case .xForwardedFor:
                isForwarded = true
                forwardedFor.append(Self.text(head, index))
            case .tailscaleUserLogin:
                (isForwarded, isServed) = (true, true)
                // Serve sets it once; two of them mean that a client's own came through.
                login = login == nil ? Self.text(head, index) : ""
            case .tailscaleFunnelRequest: (isForwarded, isServed, isFunnel) = (true, true, true)
            case .forwarded, .via, .xForwardedHost, .xForwardedProto, .xRealIP, .tailscaleUserName,
                .tailscaleUserProfilePic:
                isForwarded = true
            case .other:
                if ForwardingHeaders.contains(head.fields.name(at: index).lowercased()) { isForwarded = true }
            default: continue
            }
        }
        let mediaType = head.fields[.contentType].flatMap { try? MediaType(parsing: $0) }?.essence
        self.init(
            method: head.method.name,
            version: head.version == .http10 ? .http10 : head.version == .http2 ? .http2 : .http11,
            hosts: hosts,
            origins: origins,
            hasReferer: hasReferer,
            fetchSite: head.fields.string(for: .secFetchSite),
            fetchMode: head.fields.string(for: .secFetchMode),
            fetchDestination: head.fields.string(for: .secFetchDest),
            body: Body(mediaType: head.fields.contains(.contentType) ? mediaType ?? "" : nil, hasBody: hasBody),
            requestedMethod: head.fields.string(for: .accessControlRequestMethod),
            requestsPrivateNetwork: head.fields.contains(.accessControlRequestPrivateNetwork),
            authorization: authorization,
            ticket: Self.ticket(in: head),
            path: String(decoding: head.path, as: UTF8.self),
            isForwarded: isForwarded,
            serve: isServed ? ServeHeaders(login: login, forwardedFor: forwardedFor, isFunnel: isFunnel) : nil
        )
    }

    private static func text(_ head: RequestHead, _ index: Int) -> String {
        String(decoding: head.fields.value(at: index), as: UTF8.self)
    }

    private static func ticket(in head: RequestHead) -> String? {
        guard head.query != nil, let items = try? head.queryItems() else { return nil }
        return items["ticket"]
    }
}
