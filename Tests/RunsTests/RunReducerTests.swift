import Basics
import Gateway
import JSONBytes
import Labels
import Ledger
import Testing

@testable import Runs

struct RunReducerTests {
    private static let main = SessionKey(canonical: "agent:main:main")

    private func replay(_ frames: [(String, JSONValue)], labels: LabelTable = .extended) -> Replay {
        var replay = Replay(labels: labels)
        for (place, frame) in frames.enumerated() {
            replay.take(.named(frame.0, frame.1), at: Int64(place))
        }
        return replay
    }

    private func agent(_ frames: JSONValue...) -> Replay { replay(frames.map { ("agent", $0) }) }

    // MARK: text

    @Test func `text so far, pieces and replacements give one text`() {
        let run = agent(
            AgentFrame.start("r"),
            AgentFrame.text("r", 2, "You"),
            AgentFrame.piece("r", 3, " have"),
            AgentFrame.piece("r", 4, " three"),
            AgentFrame.piece("r", 5, "You have two", replace: true),
            AgentFrame.piece("r", 6, " meetings.")
        )
        #expect(run.text("r") == "You have two meetings.")
    }

    @Test func `chat text without agent events follows the three rules`() {
        let run = replay([
            ("chat", ChatFrame.delta("r", 1, "You have two meet")), ("chat", ChatFrame.piece("r", 2, "ings today.")),
            ("chat", ChatFrame.piece("r", 3, "", replace: true)), ("chat", ChatFrame.piece("r", 4, "None.")),
        ])
        #expect(run.text("r") == "None.")
    }

    @Test func `agent events win over chat events of the same run`() {
        let run = replay([
            ("chat", ChatFrame.delta("r", 2, "Hel")), ("agent", AgentFrame.text("r", 2, "Hello")),
            ("chat", ChatFrame.delta("r", 3, "Hello wor")), ("agent", AgentFrame.text("r", 4, "Hello world")),
        ])
        #expect(run.text("r") == "Hello world")
        let replaced = run.changes.contains { if case .textReplaced = $0 { true } else { false } }
        #expect(!replaced)
    }

    @Test func `texts before and after a tool are paragraphs, however the final text repeats them`() {
        var frames: [(String, JSONValue)] = [
            ("agent", AgentFrame.start("r")), ("agent", AgentFrame.text("r", 2, "Let me look.")),
            ("agent", AgentFrame.toolStart("r", 3, "c", "read", "{\"path\":\"a.md\"}", at: 10)),
            ("agent", AgentFrame.toolResult("r", 4, "c", "read", at: 20)), ("agent", AgentFrame.text("r", 5, "It")),
            ("agent", AgentFrame.text("r", 6, "It says tea.")),
        ]
        #expect(replay(frames).text("r") == "Let me look.\n\nIt says tea.")
        // 2026.3.1 repeats the last message, 2026.6.11 all of them without a break. Events with the end of the text may be missing.
        for (final, text) in [
            ("It says tea.", "It says tea."), ("Let me look.It says tea.", "It says tea."),
            ("It says tea. Good.", "It says tea. Good."),
            ("Let me look.It says tea. Good.", "It says tea. Good."),
        ] {
            let run = replay(frames + [("chat", ChatFrame.final("r", 7, final))])
            #expect(run.text("r") == "Let me look.\n\n" + text)
            #expect(run.ended["r"]?.text == run.text("r"))
            #expect(!run.changes.contains { if case .textReplaced = $0 { true } else { false } })
        }
        frames.append(("chat", ChatFrame.final("r", 7, "Something else.")))
        #expect(replay(frames).text("r") == "Something else.")
    }

    @Test func `pieces behind a tool are a paragraph of their own`() {
        let run = replay([
            ("agent", AgentFrame.start("r")), ("agent", AgentFrame.piece("r", 2, "Let me")),
            ("agent", AgentFrame.piece("r", 3, " look.")),
            ("agent", AgentFrame.toolStart("r", 4, "c", "read", "{\"path\":\"a.md\"}", at: 10)),
            ("agent", AgentFrame.toolResult("r", 5, "c", "read", at: 20)), ("agent", AgentFrame.piece("r", 7, " says")),
            ("agent", AgentFrame.piece("r", 6, "It")), ("agent", AgentFrame.piece("r", 8, " tea.")),
        ])
        #expect(run.text("r") == "Let me look.\n\nIt says tea.")
    }

    @Test(arguments: [["N", "NO", "NO_", "NO_REPLY"], ["NO_REPLY"], ["**NO_REPLY**"], ["HEART", "HEARTBEAT_OK"]])
    func `a reply that may become silent is held back`(texts: [String]) {
        var frames = [("agent", AgentFrame.start("r"))]
        for (place, text) in texts.enumerated() { frames.append(("agent", AgentFrame.text("r", place + 2, text))) }
        let held = replay(frames)
        #expect(held.text("r").isEmpty)
        frames.append(("chat", ChatFrame.final("r", 20, nil)))
        let ended = replay(frames)
        #expect(ended.text("r").isEmpty)
        #expect(ended.ended["r"]?.state == .completed)
    }

    @Test func `a held beginning appears as soon as it is something else`() {
        var frames = [("agent", AgentFrame.start("r")), ("agent", AgentFrame.text("r", 2, "No"))]
        #expect(replay(frames).text("r").isEmpty)
        frames.append(("agent", AgentFrame.text("r", 3, "No, I cannot.")))
        #expect(replay(frames).text("r") == "No, I cannot.")
        let short = replay([("agent", AgentFrame.text("r", 2, "No")), ("chat", ChatFrame.final("r", 3, "No"))])
        #expect(short.text("r") == "No")
    }

    @Test func `offsets count UTF-16 units`() {
        let run = agent(
            AgentFrame.text("r", 2, "🦞 é"),
            AgentFrame.text("r", 3, "🦞 é and 𝄞"),
            AgentFrame.text("r", 4, "🦞 é and 𝄞!")
        )
        let offsets = run.changes.compactMap { if case .textAppended(_, let offset, _) = $0 { offset } else { nil } }
        #expect(offsets == [0, 4, 11])
        #expect(run.text("r") == "🦞 é and 𝄞!")
    }

    @Test func `a run's text is bounded and cut between characters`() {
        let block = String(repeating: "é", count: 400_000)
        let run = agent(AgentFrame.text("r", 2, block), AgentFrame.text("r", 3, block + block))
        let text = run.tracker.run("r")?.text ?? ""
        #expect(text.utf8.count <= ActivityLimits.runTextBytes)
        #expect(text.allSatisfy { $0 == "é" })
    }

    // MARK: steps

    @Test func `parallel calls end each for itself`() throws {
        var frames = [
            ("agent", AgentFrame.start("r")),
            ("agent", AgentFrame.toolStart("r", 2, "a", "exec", "{\"command\":\"npm test\"}", at: 100)),
            ("agent", AgentFrame.toolStart("r", 3, "b", "read", "{\"path\":\"x/y.md\"}", at: 150)),
            ("agent", AgentFrame.toolResult("r", 4, "b", "read", at: 400)),
        ]
        let half = try #require(replay(frames).tracker.run("r"))
        #expect(half.steps.map(\.label) == ["Running tests...", "Read y.md (250ms)"])
        #expect(half.steps.map(\.state) == [.running, .done])
        #expect(half.currentLabel == "Running tests...")
        frames.append(
            (
                "agent",
                AgentFrame.toolResult(
                    "r",
                    5,
                    "a",
                    "exec",
                    #"{"content":[],"details":{"exitCode":1,"durationMs":5321,"status":"completed"}}"#,
                    at: 9000
                )
            )
        )
        let run = try #require(replay(frames).tracker.run("r"))
        #expect(run.steps[0].label == "Running tests failed (exit 1, 5.3s)")
        #expect(run.steps[0].exitCode == 1)
        #expect(run.steps[0].durationMilliseconds == 5321)
        #expect(run.steps.map(\.sequence) == [1, 2])
    }

    @Test(arguments: [
        ("final", Step.State.done, "Ran tests"), ("aborted", .cancelled, "Running tests cancelled"),
        ("error", .failed, "Running tests failed"),
    ])
    func `the end of a run closes what is open`(state: String, expected: Step.State, label: String) throws {
        let run = replay([
            ("agent", AgentFrame.toolStart("r", 2, "a", "exec", "{\"command\":\"npm test\"}", at: 100)),
            ("chat", ChatFrame.make("r", 3, state, state == "error" ? ",\"errorMessage\":\"quota\"" : "")),
        ])
        let step = try #require(run.tracker.run("r")?.steps.first)
        #expect(step.state == expected)
        #expect(step.label == label)
        #expect(step.durationMilliseconds == nil)
    }

    @Test func `a call that ends in the millisecond it began in has no duration`() throws {
        func run(to end: Int64) throws -> Step {
            let run = replay([
                ("agent", AgentFrame.toolStart("r", 2, "a", "exec", "{\"command\":\"npm test\"}", at: 100)),
                ("agent", AgentFrame.toolResult("r", 3, "a", "exec", at: end)),
            ])
            return try #require(run.tracker.run("r")?.steps.first)
        }
        #expect(try run(to: 100).durationMilliseconds == nil)
        #expect(try run(to: 100).label == "Ran tests")
        #expect(try run(to: 101).durationMilliseconds == 1)
    }

    @Test(arguments: [
        ("boom\n(Command exited with code 3)\n\n", 3, "boom"), (" Tool not found \n", nil, "Tool not found"),
        ("\n\n(Command exited with code 127)", 127, nil), ("(Command exited with code 3) of make", nil, nil),
    ])
    func `blanks around a result's text hide nothing`(_ text: String, _ code: Int64?, _ error: String?) throws {
        let result = "{\"content\":[{\"type\":\"text\",\"text\":\(quoted(text))}]}"
        let run = replay([
            ("agent", AgentFrame.toolStart("r", 2, "a", "exec", "{\"command\":\"make\"}", at: 100)),
            ("agent", AgentFrame.toolResult("r", 3, "a", "exec", result, at: 200)),
        ])
        let step = try #require(run.tracker.run("r")?.steps.first)
        #expect(step.exitCode == code)
        #expect(step.error == error)
        #expect(step.state == (code == nil && error == nil ? .done : .failed))
    }

    @Test func `a result without its start is a finished step`() throws {
        let run = agent(
            AgentFrame.toolResult(
                "r",
                9,
                "z",
                "web_fetch",
                #"{"content":[{"type":"text","text":"tool not found"}]}"#,
                isError: false,
                at: 5
            )
        )
        let step = try #require(run.tracker.run("r")?.steps.first)
        #expect(step.state == .failed)
        #expect(step.tool == "web_fetch")
        #expect(step.label == "Fetching data failed")
    }

    @Test func `calls without ids are told apart by their order`() throws {
        let frames = ["start", "result", "start", "result"].enumerated().map { place, phase in
            AgentFrame.make(
                "r",
                place + 1,
                "tool",
                "{\"phase\":\"\(phase)\",\"name\":\"read\",\"args\":{\"path\":\"f\(place).md\"}}",
                at: Int64(place) * 10
            )
        }
        let steps = try #require(replay(frames.map { ("agent", $0) }).tracker.run("r")?.steps)
        #expect(steps.map(\.label) == ["Read f0.md (10ms)", "Read f2.md (10ms)"])
    }

    @Test func `a command that goes on in the background ends with its process`() throws {
        var frames = [
            ("agent", AgentFrame.toolStart("r", 2, "a", "exec", "{\"command\":\"npm run dev\"}", at: 0)),
            (
                "agent",
                AgentFrame.toolResult(
                    "r",
                    3,
                    "a",
                    "exec",
                    #"{"details":{"status":"running","sessionId":"p7"}}"#,
                    at: 100
                )
            ),
        ]
        #expect(replay(frames).tracker.run("r")?.steps.first?.label == "Starting the app (in background)")
        #expect(replay(frames).tracker.run("r")?.steps.first?.state == .running)
        frames += [
            (
                "agent",
                AgentFrame.toolStart("r", 4, "b", "process", "{\"action\":\"poll\",\"sessionId\":\"p7\"}", at: 2000)
            ),
            (
                "agent",
                AgentFrame.toolResult(
                    "r",
                    5,
                    "b",
                    "process",
                    #"{"details":{"status":"completed","exitCode":0}}"#,
                    at: 3000
                )
            ),
        ]
        let steps = try #require(replay(frames).tracker.run("r")?.steps)
        #expect(steps.map(\.label) == ["Started the app (3s)", "Checked a running command (1s)"])
    }

    @Test func `an approval is the same step, waiting, and says what answers it`() throws {
        let request =
            #"{"id":"ap-1","request":{"command":"rm -rf build","sessionKey":"agent:main:main"},"createdAtMs":1795000000200}"#
        var frames = [
            ("agent", AgentFrame.start("r")),
            ("agent", AgentFrame.toolStart("r", 2, "a", "exec", "{\"command\":\"rm -rf build\"}", at: 100)),
            ("exec.approval.requested", json(request)),
        ]
        let step = try #require(replay(frames).tracker.run("r")?.steps.first)
        #expect(step.kind == .approval)
        #expect(step.state == .waiting)
        #expect(step.category == .approval)
        #expect(step.label == "Waiting for approval: Deleting build")
        #expect(step.detail?.contains("/approve ap-1 allow-once") == true)
        frames.append(
            (
                "exec.approval.resolved",
                json(#"{"id":"ap-1","decision":"allow-once","ts":1795000000500,"request":{"sessionKey":"main"}}"#)
            )
        )
        #expect(replay(frames).tracker.run("r")?.steps.first?.label == "Deleting build...")
        frames.append(("agent", AgentFrame.toolResult("r", 3, "a", "exec", at: 900)))
        let done = try #require(replay(frames).tracker.run("r")?.steps)
        #expect(done.map(\.label) == ["Deleted build (800ms)"])
        #expect(done.map(\.kind) == [.tool])
    }

    @Test func `an approval without a known call is a step of its own`() throws {
        let frames = [
            ("agent", AgentFrame.start("r")),
            (
                "exec.approval.requested",
                json(#"{"id":"ap-2","request":{"command":"git push","sessionKey":"main"},"createdAtMs":1795000000200}"#)
            ),
            (
                "exec.approval.resolved",
                json(#"{"id":"ap-2","decision":"deny","ts":1795000000500,"request":{"sessionKey":"main"}}"#)
            ),
        ]
        let step = try #require(replay(frames).tracker.run("r")?.steps.first)
        #expect(step.label == "Denied: Pushing changes")
        #expect(step.state == .failed)
    }

    @Test func `streamed thoughts are steps, and history does not repeat them`() throws {
        var run = replay([
            ("agent", AgentFrame.start("r")),
            ("agent", AgentFrame.make("r", 2, "thinking", #"{"text":"Reasoning:\n_Looking_"}"#, at: 10)),
            ("agent", AgentFrame.make("r", 3, "thinking", #"{"text":"Reasoning:\n_Looking at trains_"}"#, at: 900)),
        ])
        #expect(run.tracker.run("r")?.steps.map(\.label) == ["Looking at trains..."])
        run.take(.named("agent", AgentFrame.text("r", 4, "Here")), at: 50)
        #expect(run.tracker.run("r")?.steps.map(\.label) == ["Looked at trains"])
        run.take(
            .page(
                "main",
                json(
                    #"""
                    {"messages":[{"role":"user","content":"when?","timestamp":1795000000000},{"role":"assistant","timestamp":1795000000100,"content":[{"type":"thinking","thinking":"Looking at trains"},{"type":"thinking","thinking":"Comparing prices"}]}]}
                    """#
                )
            ),
            at: 60
        )
        #expect(run.tracker.run("r")?.steps.map(\.label) == ["Looked at trains", "Compared prices"])
    }

    @Test func `another model is a notice, not a failure`() throws {
        let run = agent(
            AgentFrame.start("r"),
            AgentFrame.make(
                "r",
                2,
                "lifecycle",
                #"{"phase":"fallback_step","fallbackStepToModel":"small-2","fallbackStepFromFailureDetail":"429 busy"}"#
            )
        )
        let step = try #require(run.tracker.run("r")?.steps.first)
        #expect(step.kind == .notice)
        #expect(step.label == "Switched to small-2")
        #expect(step.detail == "429 busy")
        #expect(run.tracker.run("r")?.state == .running)
    }

    @Test func `items of newer gateways join the call, obey the hide flags and stand alone without one`() throws {
        let run = agent(
            AgentFrame.start("r"),
            AgentFrame.make(
                "r",
                2,
                "item",
                #"{"itemId":"tool:a","toolCallId":"a","phase":"start","name":"exec","meta":"list files","startedAt":1795000000100}"#
            ),
            AgentFrame.make(
                "r",
                3,
                "item",
                #"{"itemId":"command:a","toolCallId":"a","phase":"end","name":"exec","status":"completed","startedAt":1795000000100,"endedAt":1795000001300}"#
            ),
            AgentFrame.make(
                "r",
                4,
                "item",
                #"{"itemId":"s1","phase":"start","kind":"search","title":"Searching docs","startedAt":1795000002000}"#
            ),
            AgentFrame.make(
                "r",
                5,
                "item",
                #"{"itemId":"s1","phase":"end","status":"failed","endedAt":1795000002500}"#
            ),
            AgentFrame.make("r", 6, "item", #"{"itemId":"h","phase":"start","title":"Secret","hidden":true}"#)
        )
        let steps = try #require(run.tracker.run("r")?.steps)
        #expect(steps.map(\.label) == ["Ran a command (1.2s)", "Searching docs failed (500ms)"])
        #expect(steps[0].detail == "list files")
    }

    /// A message for the run at work makes the newest gateways pass over calls that the model had asked for.
    @Test(arguments: [("completed", Step.State.done), ("skipped", .done), ("failed", .failed), ("blocked", .failed)])
    func `a call that was skipped has not failed`(status: String, state: Step.State) throws {
        let item = #"{"itemId":"i","phase":"%","kind":"tool","name":"read","toolCallId":"t","status":"\#(status)"}"#
        let run = agent(
            AgentFrame.start("r"),
            AgentFrame.make("r", 2, "item", item.replacing("%", with: "start")),
            AgentFrame.make("r", 3, "item", item.replacing("%", with: "end"))
        )
        #expect(try #require(run.tracker.run("r")?.steps).map(\.state) == [state])
    }

    @Test func `steps of one run are bounded`() {
        var replay = Replay(labels: .extended)
        for number in 0..<ActivityLimits.stepsPerRun + 50 {
            let frame = AgentFrame.toolStart("r", number + 1, "c\(number)", "read", "{}", at: Int64(number))
            replay.take(.named("agent", frame), at: Int64(number))
        }
        #expect(replay.tracker.run("r")?.steps.count == ActivityLimits.stepsPerRun)
    }

    // MARK: ends

    @Test func `the first error of several is shown, the provider's own words first`() throws {
        let run = replay([
            ("agent", AgentFrame.start("r")), ("agent", AgentFrame.text("r", 2, "Half an ans")),
            (
                "agent",
                AgentFrame.make(
                    "r",
                    3,
                    "lifecycle",
                    #"{"phase":"error","error":"500 exploded","endedAt":1795000000900}"#
                )
            ),
            ("chat", ChatFrame.make("r", 3, "error", #","errorMessage":"500 exploded""#)),
            ("chat", ChatFrame.make("r", 1, "error", #","errorMessage":"⚠️ Agent failed before reply: 500 exploded""#)),
        ])
        let ended = try #require(run.ended["r"])
        #expect(ended.state == .failed)
        #expect(ended.error == "500 exploded")
        #expect(ended.text == "Half an ans")
        #expect(run.changes.filter { if case .ended = $0 { true } else { false } }.count == 1)
    }

    /// Seen on 2026.4.26: no model was called, and the event says `final`, the row `stop`.
    @Test func `the gateway's own word that the agent failed before its reply is no answer`() throws {
        let text = "⚠️ Agent failed before reply: no such plugin.\\nLogs: openclaw logs --follow"
        let row = #"{"role":"assistant","content":[{"type":"text","text":"\#(text)"}],"timestamp":1795000000443,"#
        let injected = row + #""stopReason":"stop","provider":"openclaw","model":"gateway-injected"}"#
        let run = replay([("chat", ChatFrame.make("r", 1, "final", #","message":\#(injected)"#))])
        let ended = try #require(run.ended["r"])
        #expect(ended.state == .failed)
        #expect(ended.error?.hasPrefix("⚠️ Agent failed before reply: no such plugin.") == true)
        #expect(ended.text.isEmpty)

        // A model may say the same.
        let said = replay([("chat", ChatFrame.final("r", 1, "⚠️ Agent failed before reply: is a text of the gateway."))])
        #expect(said.ended["r"]?.state == .completed)

        let kept = try #require(TranscriptRow(JSONDocument(parsing: Array(injected.utf8)).root))
        #expect(kept.stopReason == .error)
        #expect(kept.errorMessage == ended.error)
    }

    @Test func `without a terminal chat event the run ends a little after its lifecycle`() {
        var tracker = RunTracker()
        var now = Timestamp(milliseconds: 1_795_000_000_000)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("r"), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.end("r", 5), now: now)
        #expect(tracker.tick(now: now.adding(milliseconds: 2_000)).isEmpty)
        now = now.adding(milliseconds: Ending.endGrace)
        // A page may still have what was missed of it.
        #expect(tracker.tick(now: now).isEmpty)
        now = now.adding(milliseconds: RunTracker.lastPageMilliseconds)
        #expect(
            tracker.tick(now: now).contains { if case .ended(let run) = $0 { run.state == .completed } else { false } }
        )
        #expect(tracker.tick(now: now.adding(milliseconds: 10)).isEmpty)
    }

    @Test func `an error that is tried again does not end the run`() {
        var tracker = RunTracker()
        let now = Timestamp(milliseconds: 1_795_000_000_000)
        for frame in [
            AgentFrame.start("r"),
            AgentFrame.make("r", 2, "lifecycle", #"{"phase":"error","error":"529 overloaded"}"#),
            AgentFrame.make("r", 3, "lifecycle", #"{"phase":"start"}"#),
        ] { _ = tracker.receive(event: "agent", payload: frame, now: now) }
        #expect(tracker.tick(now: now.adding(milliseconds: 120_000)).isEmpty)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("r", 9, "Done."), now: now)
        #expect(tracker.run("r")?.state == .completed)
        #expect(tracker.run("r")?.error == nil)
    }

    @Test func `secrets in errors and thoughts are masked`() throws {
        let run = replay([
            ("agent", AgentFrame.start("r")),
            (
                "chat",
                ChatFrame.make(
                    "r",
                    3,
                    "error",
                    #","errorMessage":"401 Incorrect API key provided: sk-abcdefghijklmnop1234""#
                )
            ),
        ])
        let ended = try #require(run.ended["r"])
        #expect(ended.error == "401 Incorrect API key provided: •••")
        #expect(ended.steps.allSatisfy { !$0.label.contains("abcdefgh") && !($0.detail ?? "").contains("abcdefgh") })
    }
}
