/// The link's report about one dispatch. Every dispatch gets exactly one.
package enum AttemptOutcome: Sendable, Equatable {
    /// The frame was never written: no socket, or it closed before.
    case notDispatched(detail: String)
    case acknowledged(Acknowledgement)
    case rejected(GatewayRejection)
    /// Written, and then a timeout or the end of the connection.
    case noAnswer(detail: String)

    package struct Acknowledgement: Sendable, Equatable {
        package enum Status: Sendable, Equatable {
            /// Taken now.
            case started
            /// The same key runs already.
            case inFlight
            /// The same key has run, or waits behind another run (protocol 3), or the message was a stop word.
            case finished
            /// The same key has run, and that run failed.
            case failed

            /// The gateway answers from its memory of an earlier dispatch.
            var isOfEarlierRun: Bool { self == .finished || self == .failed }
        }

        package var status: Status
        package var runID: String?

        package init(status: Status, runID: String? = nil) {
            self.status = status
            self.runID = runID
        }
    }
}

/// Names one dispatch, so that a late report cannot be taken for that of a later one.
package struct AttemptID: Sendable, Hashable {
    package var entry: String
    package var number: Int
    package var key: String

    package init(entry: String, number: Int, key: String) {
        self.entry = entry
        self.number = number
        self.key = key
    }
}
