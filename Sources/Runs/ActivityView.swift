package import Basics
import Gateway
package import JSONBytes
import Labels

/// The active runs, for `GET /v1/activity`.
package struct ActivityView: Sendable {
    package let runs: [Run]
    /// How many approvals wait for a decision.
    package let approvals: Int

    /// Keeps the active runs, in the order in which they began.
    package init(_ runs: [Run], approvals: Int = 0) {
        self.approvals = approvals
        self.runs = runs.filter(\.state.isActive).sorted { ($0.startedAt, $0.id) < ($1.startedAt, $1.id) }
    }

    /// `idle`, the current label of the only run, or `N active`.
    package var headline: String {
        switch runs.count {
        case 0: "idle"
        case 1: runs.first?.currentLabel ?? "idle"
        default: "\(runs.count) active"
        }
    }

    /// One line for each open step, and one for each run without an open step.
    package func lines(now: Timestamp) -> [String] {
        guard !runs.isEmpty else { return ["idle"] }
        return runs.flatMap { run in
            let open = run.steps.filter { $0.state.isOpen }
            guard !open.isEmpty else { return [Self.line(run, run.currentLabel, since: run.startedAt, now: now)] }
            return open.map { Self.line(run, $0.label, since: $0.startedAt, now: now) }
        }
    }

    package func plainText(now: Timestamp) -> String { lines(now: now).joined(separator: "\n") + "\n" }

    private static func line(_ run: Run, _ label: String, since: Timestamp, now: Timestamp) -> String {
        let elapsed = now.milliseconds - since.milliseconds
        let time = elapsed >= 1_000 ? " (\(DurationText.of(milliseconds: elapsed / 1_000 * 1_000)))" : ""
        return Printable.line("\(run.session.text)  \(label)\(time)")
    }
}

extension ActivityView: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("active", runs.count)
            writer.array("runs", of: runs)
            writer.member("headline", headline)
            writer.member("approvals", approvals)
        }
    }
}
