import Testing

/// Each recording of a gateway is played to the services, with an interruption after one of its steps, and Ladle's
/// reports are compared with the gateway's actions. `LADLE_REPLAY=all` interrupts after every step, in every way.
@Suite(.serialized) struct CutReplayTests {
    @Test(arguments: ReplayReport.names)
    func `Ladle says what the gateway did, wherever it is interrupted`(name: String) async throws {
        let recording = try GatewayRecording(name)
        var report = ReplayReport(recording)
        for cut in ReplayReport.cuts(recording) {
            let account = try await CutReplay.account(of: recording, cut: cut)
            report.trace(account, of: cut)
            report.add(ReplayJudge.findings(recording, account), of: cut)
        }
        report.close()
        for (rule, lines) in report.lines.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let text = lines.prefix(ReplayReport.mostLines).joined(separator: "\n")
            Issue.record("\(name): \(rule.rawValue), \(lines.count) times\n\(text)")
        }
    }
}
