package import Basics
package import JSONBytes

/// The state of the link, as `GET /v1/status` shows it.
package enum LinkState: String, Sendable, CaseIterable {
    case connecting
    case online
    /// Connected, but the gateway takes nothing for a while: it starts, suspends or drains.
    case paused
    case waitingForApproval = "waiting_for_approval"
    /// The link stays refused until something changes at the gateway or in the configuration.
    case refused
    /// The link is down and will be tried again.
    case offline

    /// Whether there is a connection over which the gateway reports events.
    package var isConnected: Bool { self == .online || self == .paused }
}

/// The link's state with everything a person needs to act on it.
package struct LinkStatus: Sendable, Equatable, JSONWritable {
    /// The code of a link that Ladle closed when it stopped.
    package static let stoppedCode = "STOPPED"

    package var state: LinkState
    /// The gateway's `details.code` word for word if it sent one, else our own code.
    package var code: String?
    /// One sentence for people.
    package var detail: String
    /// The exact command or setting that helps.
    package var hint: String?
    package var since: Timestamp
    package var url: String?
    package var protocolVersion: Int?
    package var gatewayVersion: String?
    /// The scopes in effect, which may be fewer than the approved ones.
    package var scopes: [String]
    /// The features of the connected gateway; empty while there is no link.
    package var features: [String] = []
    package var retryAt: Timestamp?
    /// When the gateway asked to try again; nil if it did not say.
    package var until: Timestamp?
    package var requestId: String?
    /// How far the gateway's clock is ahead of ours, in whole seconds; nil if the clocks agree well enough.
    package var clockSkewMs: Int64?

    package init(state: LinkState, code: String? = nil, detail: String, since: Timestamp, url: String?) {
        self.state = state
        self.code = code
        self.detail = detail
        self.since = since
        self.url = url
        scopes = []
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("state", state.rawValue)
            writer.member("code", code)
            writer.member("detail", detail)
            writer.member("hint", hint)
            writer.member("since", since)
            writer.member("url", url)
            writer.member("protocol", protocolVersion)
            if let gatewayVersion { writer.object("gateway") { $0.member("version", gatewayVersion) } }
            writer.array("scopes", of: scopes)
            writer.array("features", of: features)
            writer.member("retryAt", retryAt)
            writer.member("until", until)
            writer.member("requestId", requestId)
            writer.member("clockSkewMs", clockSkewMs)
        }
    }
}
