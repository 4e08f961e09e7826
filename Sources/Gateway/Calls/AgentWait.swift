package import JSONBytes

/// Asks whether a run is over. Transcript pages of older gateways do not show it.
package struct AgentWait: GatewayCall {
    package enum Output: Sendable, Equatable {
        /// The run is over. Also the answer for a queued message that has not run, and on 2026.4.26 for a run that
        /// failed.
        case ended
        case failed(String?)
        /// The message is in the queue of this process, which the newest releases also say while its turn is at work.
        case queued
        /// June: the run is at work, or waits for its turn. Newer releases say this only of an answer that a restart cut off.
        case draining
        /// Nothing about the run: it is at work, or the gateway does not know it. June says this only of a run that it does not know.
        case unknown

        /// The run is over in the process that answers, and was at work there if it had begun.
        package var isEndOfWork: Bool {
            switch self {
            case .ended: true
            case .failed(let error): !GatewayError.isOfEarlierLifecycle(error)
            case .queued, .draining, .unknown: false
            }
        }
    }

    package static let method = "agent.wait"
    /// June: the phase of every run in the gateway's hands; one that it does not know is in the phase `queue`.
    private static let drainingPhase = "gateway_draining"
    package var runId: String

    package init(runId: String) { self.runId = runId }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("runId", runId)
        // The shortest wait, because only the current state matters.
        writer.member("timeoutMs", 1)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        switch payload["status"]?.string {
        case "ok": .ended
        case "error": .failed(payload["error"]?.string)
        case "pending": .queued
        // An error after which the gateway may try again.
        case "timeout" where payload["pendingError"]?.bool == true: .queued
        case "timeout" where payload["timeoutPhase"]?.string == drainingPhase: .draining
        default: .unknown
        }
    }
}
