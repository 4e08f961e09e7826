import Gateway
import JSONBytes
import Labels
import TestSupport
import Testing

@testable import Runs

/// The run that a recording must come to, read from the recording itself.
struct ExpectedRun: Sendable {
    var capture: String
    var id: String
    var state: Run.State
    var text: String
    var steps: [String]
    var error: String?

    init(
        _ capture: String,
        _ id: String,
        _ state: Run.State,
        _ text: String,
        _ steps: [String] = [],
        error: String? = nil
    ) {
        self.capture = capture
        self.id = id
        self.state = state
        self.text = text
        self.steps = steps
        self.error = error
    }
}

struct CaptureReplayTests {
    static let sunny = "It is **sunny**, 21 °C. I saved it to `weather.txt`."
    static let counted = "number 1, number 2, number 3, number 4, number 5, number 6, number 7, number 8, number"
    static let overflow =
        "Context overflow: prompt too large for the model. Try /reset (or /new) to start a fresh session, or use a larger-context model."

    static let expired =
        "Authentication failed (provider returned HTTP 401). Your provider token may have expired — try the request again in a moment. If the failure persists, re-authenticate this provider."

    static let expected: [ExpectedRun] = [
        ExpectedRun("chat-text.v2026.3.1", "1b68f90b", .completed, "Hello! You said: Hello there, nice to meet you"),
        ExpectedRun("chat-text.v2026.6.11", "52374c8b", .completed, "Hello! You said: Hello there, nice to meet you"),
        ExpectedRun("chat-thinking.v2026.3.1", "b30e42d5", .completed, "The answer is 42."),
        ExpectedRun("chat-thinking.v2026.6.11", "97e7d971", .completed, "The answer is 42."),
        ExpectedRun("chat-reasoning-on.v2026.3.1", "e1fcf3", .completed, "The answer is 42."),
        ExpectedRun("chat-reasoning-on.v2026.6.11", "3351c6", .completed, "The answer is 42."),
        ExpectedRun(
            "chat-tools-verbose-default.v2026.3.1",
            "9b918d",
            .completed,
            sunny,
            ["done Wrote weather.txt"]
        ),
        ExpectedRun(
            "chat-tools-verbose-default.v2026.6.11",
            "efa9eb",
            .completed,
            "Let me check that." + sunny,
            ["done Wrote weather.txt (44ms)"]
        ),
        ExpectedRun("chat-tools-verbose-on.v2026.3.1", "8b7bdc", .completed, sunny, ["done Wrote weather.txt"]),
        ExpectedRun(
            "chat-tools-verbose-on.v2026.6.11",
            "e77863",
            .completed,
            "Let me check that." + sunny,
            ["done Wrote weather.txt (72ms)"]
        ),
        ExpectedRun("chat-tools-verbose-off.v2026.3.1", "9c7641", .completed, sunny, ["done Wrote weather.txt"]),
        ExpectedRun(
            "chat-tools-verbose-off.v2026.6.11",
            "0aebb6",
            .completed,
            "Let me check that." + sunny,
            ["done Wrote weather.txt (65ms)"]
        ),
        ExpectedRun(
            "chat-tools-verbose-full.v2026.3.1",
            "86394b",
            .completed,
            "Both tools are done.",
            ["done Checked the time (1s)", "done Read weather.txt (10ms)"]
        ),
        ExpectedRun(
            "chat-tools-verbose-full.v2026.6.11",
            "f95152",
            .completed,
            "Both tools are done.",
            ["done Checked the time (1.2s)", "done Read weather.txt (291ms)"]
        ),
        // Without the cap 2026.3.1 sends no tools at all, 2026.6.11 sends items without arguments.
        ExpectedRun("chat-tools-verbose-on-nocaps.v2026.3.1", "429941", .completed, sunny),
        ExpectedRun(
            "chat-tools-verbose-on-nocaps.v2026.6.11",
            "e8c0f5",
            .completed,
            "Let me check that." + sunny,
            ["done Ran a command (63ms)"]
        ),
        ExpectedRun(
            "chat-tool-write-edit.v2026.3.1",
            "e34b72",
            .completed,
            "I wrote the file and edited it.",
            ["done Wrote todo.md (13ms)", "done Edited todo.md (5ms)"]
        ),
        ExpectedRun(
            "chat-tool-write-edit.v2026.6.11",
            "4559f8",
            .completed,
            "I wrote the file and edited it.",
            ["done Wrote todo.md (76ms)", "failed Editing todo.md failed (76ms)"]
        ),
        ExpectedRun(
            "chat-tool-error.v2026.3.1",
            "30c580",
            .completed,
            "The command failed with exit code 3.",
            ["failed Printing text failed (exit 3, 14ms)"]
        ),
        ExpectedRun(
            "chat-tool-error.v2026.6.11",
            "0280b7",
            .completed,
            "Trying a command that fails.The command failed with exit code 3.",
            ["failed Printing text failed (exit 3, 62ms)"]
        ),
        ExpectedRun(
            "chat-abort.v2026.3.1",
            "c8e57c",
            .aborted,
            "number 1, number 2, number 3, number",
            ["done Counted slowly"]
        ),
        ExpectedRun("chat-abort.v2026.6.11", "277256", .aborted, "number 1, number 2, number 3, number"),
        ExpectedRun("chat-abort-alias.v2026.3.1", "400989", .aborted, "number"),
        ExpectedRun("chat-abort-alias.v2026.6.11", "be296c", .aborted, "number"),
        ExpectedRun("chat-stop-command.v2026.3.1", "56426a", .aborted, "number 1, number 2,"),
        ExpectedRun("chat-stop-command.v2026.6.11", "f7d622", .aborted, "number 1, number 2,"),
        ExpectedRun("chat-send-while-busy.v2026.3.1", "164d11", .aborted, counted, ["done Counted slowly"]),
        ExpectedRun(
            "chat-send-while-busy.v2026.3.1",
            "4004e4",
            .completed,
            "Hello! You said: second message while busy",
            ["done A short greeting will do"]
        ),
        ExpectedRun("chat-send-while-busy.v2026.6.11", "69a8ab", .aborted, counted),
        ExpectedRun("chat-send-while-busy.v2026.6.11", "434a94", .aborted, ""),
        ExpectedRun("chat-silent-empty.v2026.3.1", "2df52d", .completed, ""),
        ExpectedRun("chat-silent-empty.v2026.3.1", "786577", .completed, ""),
        ExpectedRun("chat-silent-empty.v2026.6.11", "b0b096", .completed, ""),
        failed("chat-silent-empty.v2026.6.11", "3276d2", "⚠️ Agent couldn't generate a response. Please try again."),
        failed("chat-error-400.v2026.3.1", "3d9ebe", "400 This model does not support that parameter"),
        failed(
            "chat-error-400.v2026.6.11",
            "f518bd",
            "LLM request failed: provider rejected the request schema or tool payload."
        ),
        failed("chat-error-401.v2026.3.1", "cda80f", "401 Incorrect API key provided"),
        failed("chat-error-429.v2026.3.1", "aa5f17", "⚠️ API rate limit reached. Please try again later."),
        failed("chat-error-429.v2026.6.11", "c32b98", "⚠️ API rate limit reached. Please try again later."),
        failed("chat-error-500.v2026.3.1", "3a282d", "500 fake provider exploded (500)"),
        failed("chat-error-500.v2026.6.11", "c4c1f1", "500 fake provider exploded (500)"),
        failed("chat-error-context.v2026.3.1", "782c29", overflow, then: "done Compacted the conversation"),
        failed("chat-error-401.v2026.6.11", "86892d", expired),
        // The run that answers after others of its session is the same one, heard three times.
        ExpectedRun(
            "two-clients.v2026.6.11",
            "1002a9",
            .completed,
            "Let me check that." + sunny,
            ["done Wrote weather.txt (46ms)"]
        ),
        ExpectedRun(
            "exec-approval.v2026.6.11",
            "380652",
            .completed,
            "Let me check that." + sunny,
            ["done Wrote weather.txt (47ms)"]
        ),
        ExpectedRun(
            "sessions.v2026.6.11",
            "b56e6e",
            .completed,
            "Let me check that." + sunny,
            ["done Wrote weather.txt (55ms)", "done The command printed the weather, so I can answer now"]
        ),
        ExpectedRun(
            "sessions.v2026.6.11",
            "534983",
            .completed,
            "Hello! You said: hello by sessions.send",
            ["done A short greeting will do"]
        ),
        ExpectedRun("connect-token-nodevice.v2026.3.1", "310ba9", .aborted, ""),
        ExpectedRun("cmd-verbose-on.v2026.3.1", "6a8486", .completed, "⚙️ Verbose logging enabled."),
        ExpectedRun("cmd-verbose-on.v2026.6.11", "40fa6e", .completed, "⚙️ Verbose logging enabled."),
        ExpectedRun("cmd-verbose-full.v2026.3.1", "11d967", .completed, "⚙️ Verbose logging set to full."),
        ExpectedRun("cmd-verbose-full.v2026.6.11", "bd6a17", .completed, "⚙️ Verbose logging set to full."),
        ExpectedRun("cmd-verbose-off.v2026.3.1", "66dc91", .completed, "⚙️ Verbose logging disabled."),
        ExpectedRun("cmd-verbose-off.v2026.6.11", "6ce409", .completed, "⚙️ Verbose logging disabled."),
        ExpectedRun("cmd-reasoning-on.v2026.3.1", "9bf97c", .completed, "⚙️ Reasoning visibility enabled."),
        ExpectedRun("cmd-reasoning-on.v2026.6.11", "2be6b5", .completed, "⚙️ Reasoning visibility enabled."),
        ExpectedRun("cmd-reasoning-off.v2026.3.1", "21c0e6", .completed, "⚙️ Reasoning visibility disabled."),
        ExpectedRun("cmd-reasoning-off.v2026.6.11", "0a68a6", .completed, "⚙️ Reasoning visibility disabled."),
        ExpectedRun(
            "cmd-reasoning-stream.v2026.3.1",
            "24d311",
            .completed,
            "⚙️ Reasoning stream enabled (Telegram only)."
        ),
        ExpectedRun("cmd-reasoning-stream.v2026.6.11", "fac747", .completed, "⚙️ Reasoning stream enabled."),
        ExpectedRun("cmd-new-reset.v2026.6.11", "2f876c", .completed, "✅ New session started."),
        ExpectedRun("cmd-new-reset.v2026.6.11", "8cfba4", .completed, "✅ Session reset."),
        ExpectedRun(
            "chat-attachment.v2026.3.1",
            "57e849",
            .completed,
            "Hello! You said: look at this picture",
            ["done A short greeting will do"]
        ),
        ExpectedRun(
            "chat-attachment.v2026.6.11",
            "eb5c3a",
            .completed,
            "Hello! You said: look at this picture"
        ),
        ExpectedRun(
            "chat-duplicate-idempotency.v2026.3.1",
            "7c9e14",
            .completed,
            "Hello! You said: duplicate test",
            ["done A short greeting will do"]
        ),
        ExpectedRun(
            "chat-duplicate-idempotency.v2026.6.11",
            "37eeed",
            .completed,
            "Hello! You said: duplicate test"
        ),
        ExpectedRun("agent-method.v2026.3.1", "178d37", .completed, "Hello! You said: hello via agent method"),
        ExpectedRun("agent-method.v2026.6.11", "19f09f", .completed, "Hello! You said: hello via agent method"),
        ExpectedRun("two-clients.v2026.3.1", "8c9bbe", .completed, sunny, ["done Wrote weather.txt"]),
        ExpectedRun(
            "history-after-abort.v2026.3.1",
            "5eb1c0",
            .aborted,
            "number 1, number 2, number 3,",
            ["done Counted slowly"]
        ),
        ExpectedRun(
            "history-after-abort.v2026.6.11",
            "4355bd",
            .aborted,
            "number 1, number 2, number 3,"
        ),
    ]

    private static func failed(_ capture: String, _ id: String, _ error: String, then: String? = nil) -> ExpectedRun {
        let label = ActivityLabel("Stopped with an error: \(error)", .generic).active
        return ExpectedRun(capture, id, .failed, "", ["failed \(label)"] + (then.map { [$0] } ?? []), error: error)
    }

    @Test(arguments: expected)
    func `a recorded run comes to the recorded text and steps`(expected: ExpectedRun) throws {
        let replay = try Capture(named: expected.capture).replay()
        let run = try #require(replay.run(expected.id), "\(expected.capture) has no run \(expected.id)")
        #expect(run.state == expected.state)
        #expect(run.text == expected.text)
        #expect(run.steps.map { "\($0.state.rawValue) \($0.label)" } == expected.steps)
        #expect(run.error == expected.error)
        // Who only followed the changes knows the same.
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
                    #expect(run.text == text, "\(name) \(id)")
                }
                #expect(Set(run.steps.compactMap(\.toolCallID)) == calls[id] ?? [], "\(name) \(id)")
                count += 1
            }
        }
        #expect(count > 60)
    }

    @Test func `a recording holds no other runs than its own`() throws {
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
