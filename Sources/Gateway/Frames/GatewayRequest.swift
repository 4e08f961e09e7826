import JSONBytes

/// Bytes of a request frame.
package enum GatewayRequest {
    /// Methods that change nothing, so that repeating them is harmless.
    package static let readMethods: Set<String> = [
        AgentWait.method, AgentsList.method, AgentsFilesGet.method, ChatHistory.method, SessionsList.method,
        SessionsStatus.method,
        ExecApprovalList.method, PluginApprovalList.method, SystemAgentApprovalList.method, ModelsList.method,
        UsageStatus.method, UsageCost.method,
        SessionsUsage.method, CronList.method, CronRuns.method,
    ]

    /// - Parameter params: one encoded JSON object.
    package static func frame(id: String, method: String, params: [UInt8]) -> [UInt8] {
        var writer = JSONWriter(capacity: params.count + 96)
        writer.object { writer in
            writer.member("type", "req")
            writer.member("id", id)
            writer.member("method", method)
            writer.key("params")
            writer.raw(params)
        }
        return writer.bytes
    }
}
