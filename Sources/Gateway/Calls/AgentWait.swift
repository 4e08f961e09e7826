package import JSONBytes

/// Asks whether a run is over. Older gateways say nothing about that in their pages.
package struct AgentWait: GatewayCall {
    package enum Output: Sendable, Equatable {
        /// Over. A queued message that has not run is also answered so, and on 2026.4.26 a run that failed.
        case ended
        case failed(String?)
        /// Said of a run that goes on, and of one that the gateway does not know.
        case unknown
    }

    package static let method = "agent.wait"
    package var runId: String

    package init(runId: String) { self.runId = runId }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("runId", runId)
        // The question is how the run stands now.
        writer.member("timeoutMs", 1)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        switch payload["status"]?.string {
        case "ok": .ended
        case "error": .failed(payload["error"]?.string)
        default: .unknown
        }
    }
}
