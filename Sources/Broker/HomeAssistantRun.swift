import JSONBytes

/// The beginning or end of a run as Home Assistant's entity `Run` takes it.
package struct HomeAssistantRun: Sendable, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        case started, completed, failed, aborted
    }

    package let kind: Kind
    /// The id of the event. Home Assistant does not sort out repeats, so an automation compares this.
    package let id: String
    package let session: String
    package let runID: String
    /// The reply, or the reason of a failure.
    package let text: String?

    package init(_ kind: Kind, id: String, session: String, runID: String, text: String?) {
        self.kind = kind
        self.id = id
        self.session = session
        self.runID = runID
        self.text = text
    }

    package func payload(_ level: BrokerText) -> [UInt8] {
        JSONWriter.bytes { object in
            object.member("event_type", kind.rawValue)
            object.member("id", id)
            object.member("session", session)
            object.member("runId", runID)
            object.always("short", level == .none ? nil : text.map { BrokerText.short($0) })
        }
    }
}
