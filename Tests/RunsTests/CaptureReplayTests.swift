import Gateway
import JSONBytes
import Labels
import TestSupport
import Testing

@testable import Runs

/// The run that a recording must come to, read from the recording itself.
struct ExpectedRun: Sendable {
    let capture: String
    let id: String
    let state: String
    let text: String
    let steps: [String]
    let error: String?

    init(_ row: JSONValue) {
        capture = row["capture"]?.string ?? ""
        id = row["run"]?.string ?? ""
        state = row["state"]?.string ?? ""
        text = row["text"]?.string ?? ""
        error = row["error"]?.string
        let label = error.map { ActivityLabel("Stopped with an error: \($0)", .generic).active }
        steps = (label.map { ["failed \($0)"] } ?? []) + (row["steps"]?.elements.compactMap(\.string) ?? [])
    }
}

struct CaptureReplayTests {
    static let expected = (try? TestData.document("capture-runs.json").elements.map(ExpectedRun.init)) ?? []

    @Test(arguments: expected)
    func `a recorded run comes to the recorded text and steps`(expected: ExpectedRun) throws {
        let replay = try Capture(named: expected.capture).replay()
        let run = try #require(replay.run(expected.id), "\(expected.capture) has no run \(expected.id)")
        #expect(run.state.rawValue == expected.state)
        #expect(run.text == expected.text)
        #expect(run.steps.map { "\($0.state.rawValue) \($0.label)" } == expected.steps)
        #expect(run.error == expected.error)
        // A client that only followed the changes knows the same.
        #expect(replay.text(run.id) == run.text)
        #expect(replay.started.filter { $0 == run.id }.count == 1)
        #expect(replay.ended[run.id]?.state == run.state)
        #expect(replay.ended[run.id]?.text == run.text)
        for step in run.steps { #expect(replay.steps[step.id] == step) }
    }

    /// Read from the frames, not from the code: the first terminal chat event has the run's end and its text, and tool
    /// frames name its calls.
    @Test func `every recorded run has the end, the text and the calls that its frames name`() throws {
        var count = 0
        for name in TestData.captures {
            let capture = try Capture(named: name)
            var ends: [String: (state: Run.State, text: String?)] = [:]
            var calls: [String: Set<String>] = [:]
            var seen: Set<String> = []
            for case (_, .sent(let id, _, _)) in capture.entries { seen.insert(id) }
            for case (_, .event(let event)) in capture.entries {
                switch event {
                case .agent(let event), .sessionTool(let event):
                    guard let run = event.runId, ends[run] == nil else { continue }
                    seen.insert(run)
                    if let call = event.callId { calls[run, default: []].insert(call) }
                case .sessionsChanged(let event): if let run = event.runId, ends[run] == nil { seen.insert(run) }
                case .chat(let event):
                    guard let run = event.runId, !run.hasPrefix("inject-"), ends[run] == nil else { continue }
                    // The failure of a run that began before the recording belongs to no run.
                    guard event.state == .final || seen.contains(run) else { continue }
                    switch event.state {
                    case .final where event.message != nil: ends[run] = (.completed, event.message?.text)
                    case .aborted: ends[run] = (.aborted, nil)
                    // Refused: no run came of it.
                    case .error where event.isSessionConflict: break
                    case .error: ends[run] = (.failed, nil)
                    default: break
                    }
                default: break
                }
            }
            let tracker = capture.replay().tracker
            for (id, end) in ends {
                let found = tracker.run(id)
                let run = try #require(found, "\(name) \(id)")
                #expect(run.state == end.state, "\(name) \(id)")
                if let text = end.text, !["NO_REPLY", "HEARTBEAT_OK"].contains(text) {
                    // The run's text has paragraphs. 2026.6.11 joins them at the end, and 2026.3.1 sends only the last one.
                    let (own, last) = (run.text.filter { !$0.isWhitespace }, text.filter { !$0.isWhitespace })
                    #expect(own.hasSuffix(last), "\(name) \(id)")
                }
                #expect(Set(run.steps.compactMap(\.toolCallID)) == calls[id] ?? [], "\(name) \(id)")
                count += 1
            }
        }
        #expect(count > 60)
    }

    @Test func `a recording holds no other runs than its own`() throws {
        #expect(Self.expected.count > 70)
        for (capture, count) in [
            ("chat-text.v2026.3.1", 1), ("chat-error-401.v2026.3.1", 1), ("chat-error-context.v2026.3.1", 1),
            ("chat-silent-empty.v2026.3.1", 2), ("chat-silent-empty.v2026.6.11", 2),
            ("chat-send-while-busy.v2026.3.1", 2),
            ("chat-stop-command.v2026.3.1", 1), ("sessions.v2026.3.1", 3),
        ] {
            #expect(try Capture(named: capture).replay().tracker.runs().count == count, "\(capture)")
        }
    }

    @Test func `a busy send on protocol 3 is the run that answers it`() throws {
        let replay = try Capture(named: "chat-send-while-busy.v2026.3.1").replay()
        let sent = "d94ce47e-0559-4bf6-8f1b-d75788eb98fe"
        let answer = "4004e40a-78e5-44a4-8445-758dfe509333"
        #expect(replay.changes.contains(.reassigned(from: sent, to: answer)))
        #expect(replay.tracker.run(sent)?.id == answer)
        #expect(replay.ended[sent] == nil)
    }

    @Test func `every recording replays without a run left open`() throws {
        for name in TestData.captures {
            let capture = try Capture(named: name)
            for labels in LabelTable.allCases {
                let replay = capture.replay(labels: labels)
                let cut = ["bootstrap-setup-code", "connect-control-ui-nodevice", "exec-approval"].contains {
                    name.hasPrefix($0)
                }
                for run in replay.tracker.runs() where !cut {
                    #expect(!run.state.isActive, "\(name): \(run.id) \(run.state)")
                    #expect(run.steps.allSatisfy { !$0.state.isOpen }, "\(name)")
                    #expect(replay.text(run.id) == run.text, "\(name)")
                }
            }
        }
    }
}
