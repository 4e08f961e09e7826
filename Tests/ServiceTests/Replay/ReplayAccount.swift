import JSONBytes
import Outbox

/// Ladle's reports and actions in one replay.
struct ReplayAccount: Sendable {
    struct Event: Sendable {
        /// The time in the recording.
        let time: Int64
        let type: String
        let run: String?
        let value: JSONValue
    }

    /// A call of Ladle to the gateway.
    struct Call: Sendable {
        let time: Int64
        let method: String
        let params: String
    }

    var events: [Event] = []
    var calls: [Call] = []
    /// The final state of each recorded message's entry; nil if Ladle did not send it.
    var entries: [OutboxEntry?] = []
    /// Ladle's key of each message.
    var keys: [String?] = []
    var dispatches: [RecordedGateway.Dispatch] = []
    /// Runs without an end.
    var openRuns: [String] = []
    /// The recording's time at the end of the replay.
    var end: Int64 = 0
    /// Messages whose outcome the recording cannot show.
    var unknown: Set<Int> = []
    /// The replay ended late enough for Ladle to find everything out.
    var isWhole = false
}
