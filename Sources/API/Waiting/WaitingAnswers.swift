import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

extension Call {
    /// Answers with approvals or questions. The remaining time changes constantly, so the tag leaves it out.
    func respond(
        now: Timestamp,
        on loop: isolated EventLoop,
        _ write: (inout JSONWriter, Timestamp?) -> Void
    ) {
        var lasting = JSONWriter()
        write(&lasting, nil)
        respond(.json { write(&$0, now) }, tag: EntityTag(ofBytes: lasting.bytes), on: loop)
    }
}

extension WaitingService {
    /// Writes how much of what waits at the gateway a list shows.
    func writeSight(to object: inout JSONWriter, startedAt: Timestamp) {
        let isLive = sight != .offline && sight != .asking
        let reason: String? =
            switch sight {
            case .whole: isOverfull ? "too_many" : nil
            case .unlisted: "listed_unavailable"
            case .scopeMissing: "scope_missing"
            case .unanswered, .asking: "unanswered"
            case .offline: "offline"
            }
        object.member("live", isLive)
        object.member("complete", sight == .whole && !isOverfull)
        object.member("reason", reason)
        if !isLive { object.member("asOf", asOf ?? startedAt) }
    }
}

extension Problem {
    static let notAsked = Problem(
        .gatewayUnavailable,
        "The gateway cannot be asked now what waits; nothing was decided.",
        retryAfterMs: 1000
    )
}
