import Basics
import Gateway
import JSONBytes
import Labels
import Ledger
import Testing

@testable import Runs

struct RunTrackerTests {
    private let main = SessionKey(canonical: "agent:main:main")
    private let now = Timestamp(milliseconds: 1_795_000_000_000)

    @Test func `a send is queued until the gateway begins, and forgotten when it is refused`() {
        var tracker = RunTracker()
        tracker.sent("k1", session: main, text: "hi", now: now)
        #expect(tracker.run("k1")?.state == .queued)
        #expect(tracker.looks(now).isEmpty)
        tracker.sendFailed("k1")
        #expect(tracker.run("k1") == nil)
        tracker.sent("k2", session: main, text: "hi", now: now)
        let changes = tracker.receive(event: "agent", payload: AgentFrame.start("k2"), now: now)
        #expect(changes.count == 1)
        #expect(tracker.run("k2")?.state == .running)
        tracker.sendFailed("k2")
        #expect(tracker.run("k2")?.state == .running)
    }

    @Test func `aliases of a session key are one session`() {
        var tracker = RunTracker()
        tracker.sent("k", session: main, text: "/verbose on", now: now)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("k", 1, "Done.", session: "main"), now: now)
        #expect(tracker.runs(session: main).map(\.state) == [.completed])
        #expect(tracker.run("k")?.session == main)
    }

    @Test func `runs of others are adopted when they begin, not when they end`() {
        var tracker = RunTracker()
        for payload in [
            AgentFrame.end("old", 7), AgentFrame.make("old", 8, "lifecycle", #"{"phase":"error","error":"x"}"#),
            AgentFrame.make("old", 8, "compaction", #"{"phase":"start"}"#),
        ] { #expect(tracker.receive(event: "agent", payload: payload, now: now).isEmpty) }
        #expect(tracker.receive(event: "chat", payload: ChatFrame.final("old", 7, nil), now: now).isEmpty)
        #expect(tracker.receive(event: "chat", payload: ChatFrame.make("old", 7, "error"), now: now).isEmpty)
        #expect(tracker.receive(event: "chat", payload: ChatFrame.final("inject-1", 0, "[note]"), now: now).isEmpty)
        #expect(tracker.runs().isEmpty)
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("new", session: "agent:main:telegram:group:5"),
            now: now
        )
        #expect(tracker.runs().map(\.session.text) == ["agent:main:telegram:group:5"])
    }

    @Test func `frames without a session are no one's`() {
        var tracker = RunTracker()
        let stray = json(#"{"runId":"s","seq":3,"stream":"lifecycle","ts":1795000000000,"data":{"phase":"start"}}"#)
        #expect(tracker.receive(event: "agent", payload: stray, now: now).isEmpty)
        #expect(tracker.runs().isEmpty)
    }

    @Test func `a run that has to make room gets an end`() {
        var tracker = RunTracker()
        var changes: [RunChange] = []
        for number in 0...ActivityLimits.activeRunsPerSession {
            changes += tracker.receive(event: "agent", payload: AgentFrame.start("r\(number)"), now: now)
        }
        let ended = changes.compactMap { if case .ended(let run) = $0 { run } else { nil } }
        #expect(ended.map(\.id) == ["r0"])
        #expect(ended.first?.state == .failed && ended.first?.error == Ending.tooMany)
        #expect(tracker.run("r0") == nil && tracker.activeCount == ActivityLimits.activeRunsPerSession)
    }

    @Test func `all runs together keep to a bound, and each that began ends`() {
        var tracker = RunTracker()
        var open: Set<String> = []
        let text = String(repeating: "w", count: ActivityLimits.runTextBytes)
        for number in 0..<200 {
            let session = "agent:main:s\(number)"
            let id = "r\(number)"
            for payload in [
                AgentFrame.start(id, session: session),
                AgentFrame.make(id, 2, "assistant", "{\"text\":\"\(text)\"}", session: session),
            ] {
                for change in tracker.receive(
                    event: "agent",
                    payload: payload,
                    now: now.adding(milliseconds: Int64(number))
                ) {
                    if case .started(let run) = change { open.insert(run.id) }
                    if case .ended(let run) = change { open.remove(run.id) }
                }
            }
        }
        #expect(open == Set(tracker.runs().map(\.id)) && open.contains("r199") && !open.contains("r0"))
        #expect(open.count * ActivityLimits.runTextBytes <= ActivityLimits.trackerBytes)
        #expect(open.count >= 8)
    }

    @Test func `hidden runs leave no trace`() {
        var tracker = RunTracker()
        tracker.hide("house")
        #expect(tracker.receive(event: "agent", payload: AgentFrame.start("house"), now: now).isEmpty)
        #expect(tracker.receive(event: "chat", payload: ChatFrame.final("house", 2, "ok"), now: now).isEmpty)
        let page = json(#"{"messages":[],"inFlightRun":{"runId":"house","text":"x"}}"#)
        #expect(tracker.receive(history: page, session: main, now: now).isEmpty)
        #expect(tracker.runs().isEmpty)
    }

    @Test func `of many hidden runs the oldest is forgotten first`() {
        var tracker = RunTracker()
        for number in 0...ActivityLimits.hiddenRuns { tracker.hide("house-\(number)") }
        #expect(!tracker.isHidden("house-0"))
        for number in [1, ActivityLimits.hiddenRuns] { #expect(tracker.isHidden("house-\(number)")) }
    }

    @Test func `a page makes no run of an id that is too long, and no run of another session's`() {
        var tracker = RunTracker()
        let other = tracker.defaults.tolerant("agent:main:other")
        tracker.sent("mine", session: other, text: "hi", now: now)
        for id in ["mine", "inject-1", String(repeating: "x", count: 100_000)] {
            let page = json(#"{"messages":[],"inFlightRun":{"runId":"\#(id)","text":"Half"}}"#)
            #expect(tracker.receive(history: page, session: main, now: now).isEmpty)
        }
        #expect(tracker.runs().map(\.id) == ["mine"])
        #expect(tracker.run("mine")?.state == .queued)
    }

    /// 2026.6.11, seen live: Ladle had just started and sent a message while another client's run was at work.
    @Test func `a send that waits behind a run of which nothing was seen does not get that run's answer`() {
        var tracker = RunTracker()
        tracker.sent("own", session: main, text: "mine", now: now)
        let page = json(#"{"messages":[],"inFlightRun":{"runId":"own","text":""}}"#)
        #expect(tracker.receive(history: page, session: main, now: now.adding(milliseconds: 500)).isEmpty)
        #expect(tracker.run("own")?.state == .queued)
        let answer = json(
            #"""
            {"sessionKey":"agent:main:main","message":{"role":"assistant","timestamp":1795000000700,
            "stopReason":"stop","content":[{"type":"text","text":"About another"}]}}
            """#
        )
        _ = tracker.receive(event: "session.message", payload: answer, now: now.adding(milliseconds: 700))
        let refusal = "Error: reply session initialization conflicted for agent:main:main"
        let error = json(
            #"{"runId":"own","sessionKey":"agent:main:main","seq":1,"state":"error","errorMessage":"\#(refusal)"}"#
        )
        let changes = tracker.receive(event: "chat", payload: error, now: now.adding(milliseconds: 900))
        #expect(!changes.contains { if case .ended = $0 { true } else { false } }, "\(changes)")
    }

    /// The newest gateways may put a message into the run of another one, and the rows behind it name that run.
    @Test func `a message that joined the run of another message of ours takes nothing from it`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.autumn)
        for id in ["a", "b"] { tracker.sent(id, session: main, text: id, now: now) }
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        let rows = #"""
            [{"role":"user","content":"b","timestamp":1795000000500,"idempotencyKey":"b:user"},
            {"role":"assistant","content":"Both.","timestamp":1795000000900,"stopReason":"stop",
            "__openclaw":{"id":"r1","runId":"a"}}]
            """#
        let page = json(#"{"messages":\#(rows),"hasMore":false}"#)
        let changes = tracker.receive(history: page, session: main, now: now.adding(milliseconds: 950))
        #expect(!changes.contains { if case .reassigned = $0 { true } else { false } }, "\(changes)")
    }

    @Test func `a send that waits behind the run at work has not begun, though the page names it`() {
        var tracker = RunTracker()
        for id in ["a", "b"] { tracker.sent(id, session: main, text: id, now: now) }
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        let page = json(#"{"messages":[],"inFlightRun":{"runId":"b","text":""}}"#)
        #expect(tracker.receive(history: page, session: main, now: now.adding(milliseconds: 500)).isEmpty)
        #expect(tracker.run("b")?.state == .queued)
        let thought = json(
            #"""
            {"sessionKey":"agent:main:main","message":{"role":"assistant","timestamp":1795000000700,
            "content":[{"type":"thinking","thinking":"About a"}]}}
            """#
        )
        _ = tracker.receive(event: "session.message", payload: thought, now: now.adding(milliseconds: 700))
        #expect(tracker.run("a")?.steps.map(\.label) == ["About a"])
        #expect(tracker.run("b")?.steps.isEmpty == true)
    }

    @Test func `a run that was aborted while it waited does not end before it began`() {
        var tracker = RunTracker()
        for id in ["a", "b"] { tracker.sent(id, session: main, text: id, now: now) }
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        let later = now.adding(milliseconds: 900)
        _ = tracker.receive(event: "chat", payload: ChatFrame.make("b", 1, "aborted"), now: later)
        let data = #"{"phase":"end","status":"cancelled","aborted":true,"endedAt":1795000000200}"#
        _ = tracker.receive(event: "agent", payload: AgentFrame.make("b", 1, "lifecycle", data, at: 900), now: later)
        let run = tracker.run("b")
        #expect(run?.state == .aborted && run?.startedAt == run?.endedAt)
    }

    // MARK: asking

    @Test func `while events tell everything no history is asked for`() {
        var tracker = RunTracker()
        tracker.sent("a", session: main, text: "x", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("b", session: "agent:main:side"), now: now)
        let later = now.adding(milliseconds: RunContact.silence - 1)
        #expect(tracker.looks(later).isEmpty)
        // A silent run is asked about, and not in each round.
        let silent = now.adding(milliseconds: RunContact.silence)
        #expect(tracker.looks(silent).count == 2)
        #expect(tracker.looks(silent.adding(milliseconds: 20_000)).isEmpty)
        #expect(tracker.looks(silent.adding(milliseconds: 30_000)).count == 2)
    }

    @Test func `on the oldest release the steps of others' runs are only in their history`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        tracker.sent("a", session: main, text: "x", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        // One page shows in which conversation the run began.
        #expect(tracker.looks(now) == [main])
        _ = tracker.receive(history: json(#"{"sessionId":"s","messages":[]}"#), session: main, now: now)
        #expect(tracker.looks(now).isEmpty)
        let side = "agent:main:side"
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("foreign", session: side), now: now)
        #expect(tracker.looks(now).map(\.text) == [side])
        #expect(tracker.looks(now.adding(milliseconds: 900)).isEmpty)
        #expect(tracker.looks(now.adding(milliseconds: 1_000)).map(\.text) == [side])
        // Tool events go to the connection that sent the message.
        tracker.relink(now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("a", 2, "One"), now: now)
        #expect(Set(tracker.looks(now).map(\.text)) == [side, main.text])
    }

    // MARK: gateways that keep thoughts and results for their history

    private static let turn = #"""
        {"role":"user","content":"x","timestamp":1795000000100},
        {"role":"assistant","timestamp":1795000000900,"content":[{"type":"thinking","thinking":"Trying it"},
        {"type":"toolCall","id":"c","name":"exec","arguments":{"command":"make test"}}]},
        {"role":"toolResult","toolCallId":"c","toolName":"exec","isError":false,"timestamp":1795000003000,
        "content":[{"type":"text","text":"no\n\n(Command exited with code 2)"}]}
        """#

    private func quietBook() -> RunTracker {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        tracker.sent("a", session: main, text: "x", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        return tracker
    }

    @Test func `what a command came to is asked of history while the run goes on`() {
        var tracker = quietBook()
        let call = AgentFrame.toolStart("a", 2, "c", "exec", #"{"command":"make test"}"#, at: 1_000)
        _ = tracker.receive(event: "agent", payload: call, now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.toolResult("a", 3, "c", "exec", at: 3_000), now: now)
        #expect(tracker.run("a")?.steps.map(\.label) == ["Running tests..."])
        let due = [tracker.takePageRequest(), tracker.takePageRequest()]
        #expect(due == [true, false])
        #expect(tracker.looks(now) == [main])
        _ = tracker.receive(history: json("{\"messages\":[\(Self.turn)]}"), session: main, now: now)
        #expect(tracker.run("a")?.steps.map(\.label) == ["Tried it", "Running tests failed (exit 2, 2s)"])
        #expect(tracker.looks(now.adding(milliseconds: 500)).isEmpty)
    }

    @Test func `a run's end is published with what its last page shows, or after a second without one`() {
        let final = ChatFrame.final("a", 9, "ok")
        func ended(_ changes: [RunChange]) -> [Run] {
            changes.compactMap { if case .ended(let run) = $0 { run } else { nil } }
        }
        var tracker = quietBook()
        #expect(ended(tracker.receive(event: "chat", payload: final, now: now)).isEmpty)
        let isDue = tracker.takePageRequest()
        #expect(isDue)
        #expect(tracker.looks(now) == [main])
        #expect(tracker.activeCount == 1)
        let page = json("{\"messages\":[\(Self.turn)]}")
        let told = ended(tracker.receive(history: page, session: main, now: now))
        #expect(told.first?.steps.map(\.state) == [.done, .failed])
        #expect(told.first?.text == "ok")
        #expect(tracker.looks(now.adding(milliseconds: 500)).isEmpty && tracker.activeCount == 0)
        #expect(tracker.receive(event: "chat", payload: final, now: now).isEmpty)

        tracker = quietBook()
        _ = tracker.receive(event: "chat", payload: final, now: now)
        #expect(ended(tracker.receive(history: json(#"{"messages":[]}"#), session: main, now: now)).count == 1)

        tracker = quietBook()
        _ = tracker.receive(event: "chat", payload: final, now: now)
        #expect(tracker.tick(now: now.adding(milliseconds: 999)).isEmpty)
        #expect(ended(tracker.tick(now: now.adding(milliseconds: 1_000))).count == 1)
    }

    @Test func `lost frames and a lost link ask for history again`() {
        var tracker = RunTracker()
        tracker.sent("a", session: main, text: "x", now: now)
        for frame in [AgentFrame.start("a"), AgentFrame.toolStart("a", 2, "c", "read", "{}", at: 1)] {
            _ = tracker.receive(event: "agent", payload: frame, now: now)
        }
        tracker.framesLost()
        #expect(tracker.looks(now) == [main])
        let page = json(
            #"{"messages":[{"role":"user","content":"x","timestamp":1795000000000,"idempotencyKey":"a:user"},{"role":"toolResult","toolCallId":"c","toolName":"read","content":[],"timestamp":1795000000300}]}"#
        )
        _ = tracker.receive(history: page, session: main, now: now)
        #expect(tracker.looks(now.adding(milliseconds: 1_000)).isEmpty)
        #expect(tracker.run("a")?.steps.first?.state == .done)
        tracker.relink(now: now)
        #expect(tracker.looks(now) == [main])
    }

    @Test(arguments: [("done", Run.State.completed), ("killed", .aborted), ("failed", .failed)])
    func `after a lost link the page tells how the run ended`(status: String, expected: Run.State) {
        var tracker = RunTracker()
        tracker.sent("a", session: main, text: "x", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        let info = "\"sessionInfo\":{\"hasActiveRun\":false,\"status\":\"\(status)\"}"
        let page = json(
            "{\"messages\":[{\"role\":\"user\",\"content\":\"x\",\"timestamp\":1795000000000},{\"role\":\"assistant\",\"content\":\"Hi.\",\"timestamp\":1795000001000}],\(info)}"
        )
        #expect(tracker.receive(history: page, session: main, now: now) == [.proven("a", .row)])
        tracker.relink(now: now)
        _ = tracker.receive(history: page, session: main, now: now)
        #expect(tracker.run("a")?.state == expected)
        #expect(tracker.run("a")?.text == "Hi.")
        #expect(tracker.looks(now.adding(milliseconds: 60_000)).isEmpty)
    }

    /// The gateway writes the row of an aborted run moments after the run is over.
    @Test func `a run that a page calls over waits some seconds for the row of its end`() {
        func page(_ last: String) -> JSONValue {
            let user = #"{"role":"user","content":"x","timestamp":1795000000000,"idempotencyKey":"a:user"}"#
            return json(#"{"messages":[\#(user)\#(last)],"sessionInfo":{"hasActiveRun":false,"status":"running"}}"#)
        }
        let row = #",{"role":"assistant","content":"Half","stopReason":"aborted","timestamp":1795000002000}"#
        for (last, expected) in [(row, Run.State.aborted), ("", .failed)] {
            var tracker = RunTracker()
            tracker.profile = GatewayProfile(.june)
            tracker.sent("a", session: main, text: "x", now: now)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
            tracker.relink(process: .same, now: now)
            for milliseconds: Int64 in [0, 1_000, 2_999] {
                let at = now.adding(milliseconds: milliseconds)
                _ = tracker.receive(history: page(""), session: main, now: at)
                #expect(tracker.run("a")?.state == .running)
            }
            _ = tracker.receive(history: page(last), session: main, now: now.adding(milliseconds: 3_000))
            #expect(tracker.run("a")?.state == expected)
        }
    }

    @Test func `on protocol 3 the transcript's own end closes a run whose end was missed`() {
        var tracker = RunTracker()
        tracker.sent("a", session: main, text: "hello there", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        tracker.relink(now: now)
        let page = json(
            #"{"messages":[{"role":"user","content":[{"type":"text","text":"hello there"}],"timestamp":1795000000001},{"role":"assistant","content":[{"type":"text","text":"Hi."}],"stopReason":"stop","timestamp":1795000001000}]}"#
        )
        let changes = tracker.receive(history: page, session: main, now: now)
        #expect(
            changes.contains {
                if case .ended(let run) = $0 { run.text == "Hi." && run.state == .completed } else { false }
            }
        )
    }

    @Test func `a page names a run in flight with its text so far`() {
        var tracker = RunTracker()
        let page = json(#"{"messages":[],"inFlightRun":{"runId":"f","text":"number 1, number"}}"#)
        _ = tracker.receive(history: page, session: main, now: now)
        #expect(tracker.run("f")?.text == "number 1, number")
        let changes = tracker.receive(event: "agent", payload: AgentFrame.text("f", 9, "number 1, number 2"), now: now)
        #expect(changes == [.textAppended(run: "f", offset: 16, text: " 2")])
    }

    // MARK: history and clocks

    @Test func `two equal questions in a row keep their steps apart`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        for (id, start) in [("a", Int64(1_795_000_000_000)), ("b", 1_795_000_004_000)] {
            tracker.sent(id, session: main, text: "weather?", now: Timestamp(milliseconds: start))
            _ = tracker.receive(
                event: "agent",
                payload: AgentFrame.start(id, start),
                now: Timestamp(milliseconds: start)
            )
            _ = tracker.receive(
                event: "chat",
                payload: json(
                    "{\"runId\":\"\(id)\",\"sessionKey\":\"main\",\"seq\":9,\"state\":\"final\",\"message\":{\"role\":\"assistant\",\"content\":\"Sunny.\",\"timestamp\":\(start + 2_000)}}"
                ),
                now: Timestamp(milliseconds: start + 2_000)
            )
        }
        func turn(_ time: Int64, _ thought: String) -> String {
            """
            {"role":"user","content":"weather?","timestamp":\(time - 1)},{"role":"assistant","stopReason":"stop","timestamp":\(time + 10),\
            "content":[{"type":"thinking","thinking":"\(thought)"},{"type":"text","text":"Sunny."}]}
            """
        }
        let page = json(
            "{\"messages\":[\(turn(1_795_000_000_000, "Checking the sky")),\(turn(1_795_000_004_000, "Checking again"))]}"
        )
        for _ in 0..<3 { _ = tracker.receive(history: page, session: main, now: now) }
        #expect(tracker.run("a")?.steps.map(\.label) == ["Checked the sky"])
        #expect(tracker.run("b")?.steps.map(\.label) == ["Checked again"])
    }

    @Test func `usage is the sum of the model calls, each once`() throws {
        var tracker = RunTracker()
        tracker.sent("a", session: main, text: "x", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        let usage = #""usage":{"input":10,"output":2,"totalTokens":12,"cost":{"total":0.5}}"#
        let page = json(
            """
            {"messages":[{"role":"user","content":"x","idempotencyKey":"a:user","timestamp":1795000000000},\
            {"role":"assistant","content":[],"timestamp":1795000000100,\(usage)},{"role":"assistant","content":"y","timestamp":1795000000200,\(usage)}]}
            """
        )
        for _ in 0..<2 { _ = tracker.receive(history: page, session: main, now: now) }
        let found = try #require(tracker.run("a")?.usage)
        #expect(found.totalTokens == 24)
        #expect(found.cost == 1.0)
    }

    // MARK: bounds

    @Test func `ended runs and idle sessions are dropped, active ones stay`() {
        var tracker = RunTracker()
        for number in 0..<ActivityLimits.endedRunsPerSession + 20 {
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("r\(number)"), now: now)
            _ = tracker.receive(event: "chat", payload: ChatFrame.final("r\(number)", 2, "x"), now: now)
        }
        #expect(tracker.runs(session: main).count == ActivityLimits.endedRunsPerSession)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("keep"), now: now)
        for number in 0..<ActivityLimits.sessions + 10 {
            let key = "agent:main:s\(number)"
            let time = now.adding(milliseconds: Int64(number))
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("x\(number)", session: key), now: time)
            _ = tracker.receive(event: "chat", payload: ChatFrame.final("x\(number)", 2, "x", session: key), now: time)
        }
        #expect(Set(tracker.runs().map(\.session)).count == ActivityLimits.sessions)
        #expect(tracker.run("keep")?.state == .running)
        #expect(tracker.run("x0") == nil)
    }

    // MARK: the view

    @Test func `the headline is the one run's label, a count, or idle`() {
        var tracker = RunTracker()
        #expect(ActivityView(tracker.runs()).headline == "idle")
        #expect(ActivityView(tracker.runs()).plainText(now: now) == "idle\n")
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        #expect(ActivityView(tracker.runs()).headline == "Thinking...")
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.toolStart("a", 2, "c", "exec", "{\"command\":\"cat weather.txt\"}", at: 0),
            now: now
        )
        #expect(ActivityView(tracker.runs()).headline == "Reading weather.txt...")
        #expect(
            ActivityView(tracker.runs()).plainText(now: now.adding(milliseconds: 3_200))
                == "agent:main:main  Reading weather.txt... (3s)\n"
        )
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("b", session: "agent:main:side"), now: now)
        #expect(ActivityView(tracker.runs()).headline == "2 active")
        var writer = JSONWriter()
        ActivityView(tracker.runs()).write(to: &writer)
        let root = json(String(decoding: writer.bytes, as: UTF8.self))
        #expect(root["active"]?.int == 2)
        #expect(root["runs"]?.count == 2)
    }

    @Test func `a run and its steps have the shape of the contract`() throws {
        var tracker = RunTracker()
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.toolStart("a", 2, "c1", "exec", "{\"command\":\"npm test\"}", at: 0),
            now: now
        )
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.toolResult(
                "a",
                3,
                "c1",
                "exec",
                #"{"details":{"exitCode":2,"durationMs":859}}"#,
                at: 1_000
            ),
            now: now
        )
        let run = try #require(tracker.run("a"))
        var writer = JSONWriter()
        run.write(to: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self) == """
                {"id":"a","session":"agent:main:main","state":"running","startedAt":"2026-11-18T11:06:40.000Z","text":"","steps":[\
                {"id":"a:c1","runId":"a","seq":1,"kind":"tool","tool":"exec","toolCallId":"c1","category":"terminal",\
                "label":"Running tests failed (exit 2, 859ms)","detail":"npm test","state":"failed",\
                "startedAt":"2026-11-18T11:06:40.000Z","endedAt":"2026-11-18T11:06:41.000Z","durationMs":859,"exitCode":2}]}
                """
        )
        writer = JSONWriter()
        run.write(to: &writer, includingSteps: false)
        #expect(json(String(decoding: writer.bytes, as: UTF8.self))["steps"] == nil)
    }
}
