package import Access
package import Basics
package import EventStream
package import Gateway
package import JSONBytes

/// The leader's answer to a beat, the request that each follower makes every second.
package struct Beat: Sendable {
    package var host: String
    package var version: String
    package var startedAt: Timestamp
    /// The newest durable event that its streams have.
    package var last: EventID
    /// The largest body of a new message.
    package var messageBytes: Int
    package var defaults: SessionDefaults
    /// The link as JSON: for callers that may use all sessions, and for the others.
    package var link: [UInt8]
    package var limitedLink: [UInt8]
    /// Names the state of the tokens.
    package var revision: String
    /// Nil if the follower has those of this revision.
    package var tokens: [TokenRecord]?

    package init(
        host: String,
        version: String,
        startedAt: Timestamp,
        last: EventID,
        messageBytes: Int,
        defaults: SessionDefaults,
        link: [UInt8],
        limitedLink: [UInt8],
        revision: String,
        tokens: [TokenRecord]?
    ) {
        self.host = host
        self.version = version
        self.startedAt = startedAt
        self.last = last
        self.messageBytes = messageBytes
        self.defaults = defaults
        self.link = link
        self.limitedLink = limitedLink
        self.revision = revision
        self.tokens = tokens
    }

    /// Nil if something is missing that a follower must know.
    package init?(parsing body: [UInt8]) {
        guard let root = try? JSONDocument(parsing: body, limits: .gateway).root,
            let host = root["host"]?.string, let version = root["version"]?.string,
            let startedAt = root["startedAt"]?.string.flatMap(Timestamp.init(rfc3339:)),
            let last = root["last"]?.string.flatMap({ try? EventID(parsing: $0) }),
            let messageBytes = root["messageBytes"]?.int, let defaults = root["defaults"], let link = root["link"],
            let limited = root["limitedLink"],
            let revision = root["tokens"]?["revision"]?.string
        else { return nil }
        self.host = host
        self.version = version
        self.startedAt = startedAt
        self.last = last
        self.messageBytes = Int(clamping: messageBytes)
        self.defaults = SessionDefaults(
            agent: defaults["agent"]?.string ?? "",
            mainKey: defaults["mainKey"]?.string ?? "",
            mainSession: defaults["mainSession"]?.string
        )
        self.link = Array(link.raw)
        limitedLink = Array(limited.raw)
        self.revision = revision
        // A token that cannot be read is left out, and so opens nothing.
        tokens = root["tokens"]?["list"].map { $0.elements.compactMap(TokenRecord.init(copy:)) }
    }
}

extension Beat: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("host", host)
            object.member("version", version)
            object.member("startedAt", startedAt)
            object.member("last", last.text)
            object.member("messageBytes", messageBytes)
            object.object("defaults") { inner in
                inner.member("agent", defaults.agent)
                inner.member("mainKey", defaults.mainKey)
                inner.member("mainSession", defaults.mainSession.text)
            }
            object.member("link", raw: link)
            object.member("limitedLink", raw: limitedLink)
            object.object("tokens") { inner in
                inner.member("revision", revision)
                guard let tokens else { return }
                inner.array("list") { list in
                    for token in tokens { token.writeCopy(to: &list) }
                }
            }
        }
    }
}
