import Ledger

/// The link's report about one dispatch. Every dispatch gets exactly one.
package enum AttemptOutcome: Sendable, Equatable {
    /// The frame was never written: there was no socket, or it closed before.
    case notDispatched(detail: String)
    case acknowledged(Acknowledgement)
    case rejected(GatewayRejection)
    /// The frame was written, then came a timeout or the end of the connection.
    case noAnswer(detail: String)

    package struct Acknowledgement: Sendable, Equatable {
        package enum Status: Sendable, Equatable {
            /// The message was accepted now, or the run was stopped.
            case started
            /// The run of the same key is in progress.
            case inFlight
            /// The run of the same key is over or waits behind another run (protocol 3), or the message was a stop
            /// word.
            case finished
            /// The run of the same key failed.
            case failed
            /// The gateway had no run that this abort could stop.
            case nothingRan

            /// Whether the gateway answers from its memory of an earlier dispatch.
            var isOfEarlierRun: Bool { self == .finished || self == .failed }
        }

        package var status: Status
        package var runID: String?

        /// Whether the gateway dropped the message, because it is at work on equal words in this other run.
        func isOfOtherRun(than key: String) -> Bool { status == .inFlight && runID.map { $0 != key } ?? false }

        func fact(of key: String) -> Fact.Answer {
            switch status {
            case .inFlight: isOfOtherRun(than: key) ? .joined : .atWork
            case .finished, .failed: .remembered
            case .started, .nothingRan: .taken
            }
        }

        package init(status: Status, runID: String? = nil) {
            self.status = status
            self.runID = runID
        }
    }
}

/// The id of one dispatch, so that a late report is not mistaken for a later dispatch's.
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
