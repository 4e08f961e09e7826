package import Basics
import JSONBytes

/// The last reply of the agent.
package struct BrokerReply: Sendable, Equatable {
    /// The id of the event that ended the run; nil where it was before the log.
    package let id: String?
    package let at: Timestamp
    package let session: String
    package let runID: String
    package let text: String

    package init(id: String?, at: Timestamp, session: String, runID: String, text: String) {
        self.id = id
        self.at = at
        self.session = session
        self.runID = runID
        self.text = text
    }

    package func payload(_ level: BrokerText) -> [UInt8] {
        let (whole, isCut) = BrokerText.beginning(text, jsonBytes: BrokerLimits.replyTextBytes)
        return JSONWriter.bytes(capacity: 1024) { object in
            object.always("id", id)
            object.member("at", at)
            object.member("session", session)
            object.member("runId", runID)
            object.member("short", level == .none ? "None" : BrokerText.short(text))
            object.always("text", level == .full ? whole : nil)
            object.member("truncated", level == .full && isCut)
        }
    }

    /// For as long as the agent has not replied. Home Assistant takes `None` for unknown.
    package static var nothing: [UInt8] {
        JSONWriter.bytes { object in
            for name in ["id", "at", "session", "runId"] { object.always(name, nil as String?) }
            object.member("short", "None")
            object.always("text", nil as String?)
            object.member("truncated", false)
        }
    }
}
