package import Basics
import JSONBytes

/// An approval that begins or ceases to wait, as Home Assistant's entity `Approval` takes it.
package struct HomeAssistantApproval: Sendable, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        case requested, allowed, denied, expired

        /// An approval that was cancelled, or whose end nobody saw, waits no longer: it counts as expired. Nil for
        /// other words than the API's.
        package init?(state: String) {
            switch state {
            case "pending": self = .requested
            case "allowed": self = .allowed
            case "denied": self = .denied
            case "expired", "cancelled", "unknown": self = .expired
            default: return nil
            }
        }
    }

    package let kind: Kind
    /// The id of the event. Home Assistant does not sort out repeats, so an automation compares this.
    package let id: String
    /// A decision names this one.
    package let approvalID: String
    package let session: String?
    package let runID: String?
    package let title: String
    package let expiresAt: Timestamp?

    package init(
        _ kind: Kind,
        id: String,
        approvalID: String,
        session: String?,
        runID: String?,
        title: String,
        expiresAt: Timestamp?
    ) {
        self.kind = kind
        self.id = id
        self.approvalID = approvalID
        self.session = session
        self.runID = runID
        self.title = title
        self.expiresAt = expiresAt
    }

    package var payload: [UInt8] {
        JSONWriter.bytes { object in
            object.member("event_type", kind.rawValue)
            object.member("id", id)
            object.member("approvalId", approvalID)
            object.always("session", session)
            object.always("runId", runID)
            object.member("short", BrokerText.short(title))
            object.always("expiresAt", expiresAt)
        }
    }
}
