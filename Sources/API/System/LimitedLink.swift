import Access
import JSONBytes
import Observability
import Service

/// A caller limited to sessions learns whether messages reach the gateway, but not the gateway's address, its texts or
/// how to pair.
extension LinkStatus {
    func shown(to caller: Caller) -> LinkStatus {
        caller.sessions == nil ? self : limited
    }

    var limited: LinkStatus {
        var status = LinkStatus(state: state, detail: state.sentence, since: since, url: nil)
        status.scopes = scopes
        status.features = features
        status.protocolVersion = protocolVersion
        status.retryAt = retryAt
        status.until = until
        return status
    }
}

extension LinkState {
    fileprivate var sentence: String {
        switch self {
        case .connecting: "Connecting."
        case .online: "Connected."
        case .paused: "Connected, but the gateway takes nothing for the moment."
        case .waitingForApproval: "The gateway has not let Ladle in yet."
        case .refused: "The gateway does not let Ladle in."
        case .offline: "The gateway cannot be reached."
        }
    }
}

extension StreamEvent {
    private static let shownMembers: Set<String> = [
        "state", "since", "protocol", "scopes", "features", "retryAt", "until",
    ]

    /// The shortened `link` event for a limited caller; every other event is returned unchanged.
    func shown(to caller: Caller) -> StreamEvent {
        guard type == "link", caller.sessions != nil, let event = try? JSONDocument(parsing: data).root else {
            return self
        }
        var writer = JSONWriter()
        writer.object { object in
            for (name, value) in event.members where name != "link" { object.member(name, raw: Array(value.raw)) }
            object.object("link") { link in
                guard let members = event["link"]?.members else { return }
                for (name, value) in members where Self.shownMembers.contains(name) {
                    link.member(name, raw: Array(value.raw))
                }
                link.member("detail", event["link"]?["state"]?.string.flatMap(LinkState.init)?.sentence ?? "")
            }
        }
        return StreamEvent(type: type, id: id, data: writer.bytes)
    }
}
