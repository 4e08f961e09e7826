package import Basics
import JSONBytes

/// The last failure since the start: of a run, of a message in the outbox, or of the link.
package struct BrokerFailure: Sendable, Equatable {
    /// The id of its event; nil where it has none, as a refused link.
    package let id: String?
    package let at: Timestamp
    package let code: String
    package let detail: String
    package let session: String?
    package let runID: String?

    package init(
        id: String?,
        at: Timestamp,
        code: String,
        detail: String,
        session: String? = nil,
        runID: String? = nil
    ) {
        self.id = id
        self.at = at
        self.code = code
        self.detail = detail
        self.session = session
        self.runID = runID
    }

    package var payload: [UInt8] {
        JSONWriter.bytes { object in
            object.always("id", id)
            object.member("at", at)
            object.member("code", BrokerText.short(code))
            object.member("detail", BrokerText.short(detail, limit: 1000))
            object.always("session", session)
            object.always("runId", runID)
        }
    }

    /// For as long as nothing has failed. Home Assistant takes `None` for unknown.
    package static var nothing: [UInt8] {
        JSONWriter.bytes { object in
            for name in ["id", "at"] { object.always(name, nil as String?) }
            object.member("code", "None")
            for name in ["detail", "session", "runId"] { object.always(name, nil as String?) }
        }
    }
}
