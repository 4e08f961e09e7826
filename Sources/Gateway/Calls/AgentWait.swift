package import JSONBytes

/// Asks whether a run is over. Transcript pages of older gateways do not show it.
package struct AgentWait: GatewayCall {
    package enum Output: Sendable, Equatable {
        /// The run is over. Also the answer for a queued message that has not run, and on 2026.4.26 for a run that
        /// failed.
        case ended
        case failed(String?)
        /// The run is in the hands of this process: at work, or waiting for its turn. Older releases never say so.
        case running
        /// The gateway does not know the run. Older releases answer the same for a run that is still going on.
        case unknown
    }

    package static let method = "agent.wait"
    /// The phase of every run in the gateway's hands; one that it does not know is in the phase `queue`.
    private static let activePhase = "gateway_draining"
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
        case "timeout" where payload["timeoutPhase"]?.string == activePhase: .running
        default: .unknown
        }
    }
}
