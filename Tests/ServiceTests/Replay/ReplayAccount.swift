import JSONBytes
import Outbox

/// What Ladle said and did in one replay.
struct ReplayAccount: Sendable {
    struct Event: Sendable {
        /// The recording's time.
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
    /// The entry of each message of the recording in its last state; nil where Ladle did not send it.
    var entries: [OutboxEntry?] = []
    /// Ladle's key of each message.
    var keys: [String?] = []
    var dispatches: [RecordedGateway.Dispatch] = []
    /// Runs that have no end.
    var openRuns: [String] = []
    /// The recording's time at which the replay ended.
    var end: Int64 = 0
    /// Messages of which the recording cannot tell the end.
    var unknown: Set<Int> = []
    /// The replay came to an end that leaves Ladle time to find out.
    var isWhole = false
}
