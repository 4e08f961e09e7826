import JSONBytes
import Testing

@testable import Commands

/// The state of `ladle top`, by the events of a stream, and its keys.
struct TopModelTests {
    private static func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }

    static func hello(_ state: String = "online") -> String {
        #"{"type":"hello","id":"a.1","version":"0.1.0","link":{"state":"\#(state)","gateway":{"version":"1.2"}}}"#
    }
    static func started(_ id: String, _ session: String = "agent:main:main") -> String {
        #"{"type":"run.started","session":"\#(session)","runId":"\#(id)","run":{"id":"\#(id)","session":"\#(session)","state":"running","startedAt":"2026-03-04T11:59:48.000Z","text":""}}"#
    }
    static func step(_ run: String, _ id: String, _ state: String, _ label: String) -> String {
        #"{"type":"run.step","runId":"\#(run)","step":{"id":"\#(id)","label":"\#(label)","state":"\#(state)"}}"#
    }
    static func ended(_ id: String, _ state: String = "completed") -> String {
        #"{"type":"run.ended","run":{"id":"\#(id)","session":"agent:main:main","state":"\#(state)"}}"#
    }
    static func approval(_ state: String = "pending", _ command: String = "rm -rf /", id: String = "ap1") -> String {
        #"{"type":"approval","approval":{"id":"\#(id)","state":"\#(state)","kind":"exec","title":"t","command":"\#(command)","commandSha256":"c0ffee","session":"agent:main:main","decisions":["allow-once","deny"],"warnings":[],"createdAt":"2026-03-04T11:59:00.000Z"}}"#
    }
    static let question =
        #"{"type":"question","question":{"id":"q1","state":"pending","questions":[{"id":"colour","question":"Which?","options":[{"label":"red"},{"label":"green"}]}]}}"#
    static func entry(_ state: String, version: Int = 1) -> String {
        #"{"type":"outbox","entry":{"id":"e1","state":"\#(state)","version":\#(version),"session":"agent:main:main","text":"hi"}}"#
    }

    static func control(_ events: String...) throws -> TopControl {
        var control = TopControl()
        for event in events { control.model.take(try json(event)) }
        return control
    }

    // MARK: Events

    @Test func `a run comes, takes steps and goes`() throws {
        var model = TopModel()
        for event in [
            Self.hello(), Self.started("r1"), Self.started("r1"), Self.step("r1", "s1", "running", "Reading"),
            Self.step("r1", "s1", "done", "Read"), Self.step("r1", "s2", "running", "Writing"),
            Self.step("other", "s3", "running", "x"),
        ] { model.take(try Self.json(event)) }
        #expect(model.isConnected && model.runs.map(\.id) == ["r1"])
        #expect(model.runs[0].steps.compactMap { $0["label"]?.string } == ["Read", "Writing"])
        model.take(try Self.json(Self.ended("r1", "failed")))
        #expect(model.runs.isEmpty && model.ends == ["agent:main:main": "failed"])
    }

    @Test func `a stream that begins anew brings the runs again`() throws {
        var model = TopModel()
        for event in [Self.hello(), Self.started("r1"), Self.hello(), Self.started("r2")] {
            model.take(try Self.json(event))
        }
        #expect(model.runs.map(\.id) == ["r2"])
    }

    @Test func `an entry stays until it is delivered, and an older state does not come back`() throws {
        var model = TopModel()
        for (event, states) in [
            (Self.entry("queued"), ["queued"]), (Self.entry("accepted", version: 3), ["accepted"]),
            (Self.entry("sending", version: 2), ["accepted"]), (Self.entry("delivered", version: 4), []),
        ] {
            model.take(try Self.json(event))
            #expect(model.entries.compactMap { $0["state"]?.string } == states)
        }
    }

    @Test func `sessions are ordered by their last change, and a deleted one goes`() throws {
        var model = TopModel()
        model.load(.sessions, try Self.json(#"{"sessions":[{"key":"a"},{"key":"b"},{"key":"c"}]}"#))
        model.take(try Self.json(#"{"type":"session","session":"c","reason":"changed","sessionInfo":{"key":"c"}}"#))
        model.take(try Self.json(#"{"type":"session","session":"a","reason":"deleted","sessionInfo":{"key":"a"}}"#))
        #expect(model.sessions.compactMap { $0["key"]?.string } == ["c", "b"])
    }

    @Test func `nothing grows without end`() throws {
        var model = TopModel()
        model.take(try Self.json(Self.started("r1")))
        for number in 0..<500 {
            model.take(try Self.json(Self.step("r1", "s\(number)", "done", "x")))
            model.take(try Self.json(Self.started("r\(number)", "s\(number)")))
            model.take(try Self.json(Self.approval(id: "a\(number)")))
            model.take(try Self.json(#"{"type":"session","sessionInfo":{"key":"k\#(number)"}}"#))
        }
        #expect(model.runs[0].steps.count == 50 && model.runs.count == 200)
        #expect(model.approvals.count == 200 && model.sessions.count == 200)
    }

    // MARK: Keys

    @Test func `bytes are keys, and pasted text is none`() {
        #expect(TopKey.keys(Array("j".utf8)) == [.down])
        #expect(TopKey.keys(Array("a".utf8)) == [.letter("a")])
        #expect(TopKey.keys(Array("ay".utf8)) == [])
        #expect(TopKey.keys(Array("\u{1B}[A\u{1B}OB\u{1B}[5~".utf8)) == [.up, .down, .pageUp])
        #expect(TopKey.keys(Array("\u{1B}[Ay".utf8)) == [.up])
        #expect(TopKey.keys([0x1B]) == [.escape])
        #expect(TopKey.keys([0x0D]) == [.enter] && TopKey.keys([0xFF]) == [] && TopKey.keys([]) == [])
    }

    @Test func `an approval is allowed after a y, not before somebody could read`() throws {
        var control = try Self.control(Self.hello(), Self.approval())
        #expect(control.press(.letter("y"), at: 0) == nil)
        #expect(control.press(.letter("a"), at: 1000) == nil)
        #expect(control.question?.text == "Allow it once?" && control.details.contains("rm -rf /"))
        #expect(control.press(.letter("y"), at: 1399) == nil)
        guard case .decide(let decision, let approval)? = control.press(.letter("y"), at: 1400) else {
            Issue.record("nothing is decided")
            return
        }
        #expect(decision == "allow-once" && approval["commandSha256"]?.string == "c0ffee")
        #expect(control.question == nil)
    }

    @Test(arguments: ["n", "a", "q", "x"])
    func `any other key decides nothing`(key: Character) throws {
        var control = try Self.control(Self.approval())
        _ = control.press(.letter("d"), at: 0)
        #expect(control.question?.text == "Deny it?")
        #expect(control.press(.letter(key), at: 1000) == nil)
        #expect(control.question == nil && control.note == "Nothing was done.")
    }

    @Test func `a command that is longer than the screen is read to its end first`() throws {
        var control = try Self.control(Self.approval("pending", String(repeating: "very long ", count: 400)))
        control.resize(columns: 60, rows: 24)
        _ = control.press(.letter("a"), at: 0)
        #expect(control.question == nil && control.note == "Read it to its end first, then press a.")
        _ = control.press(.letter("d"), at: 0)
        #expect(control.question?.text == "Deny it?")
        _ = control.press(.escape, at: 0)
        _ = control.press(.end, at: 0)
        _ = control.press(.letter("a"), at: 0)
        #expect(control.question?.text == "Allow it once?")
    }

    @Test func `a decision made elsewhere takes the question away`() throws {
        var control = try Self.control(Self.approval())
        _ = control.press(.letter("a"), at: 0)
        control.model.take(try Self.json(Self.approval("denied")))
        #expect(control.question == nil && control.shown == nil && control.selected == nil)
        #expect(control.press(.letter("y"), at: 1000) == nil)
    }

    @Test func `another question under the same id is not answered by this y`() throws {
        var control = try Self.control(Self.approval())
        _ = control.press(.letter("a"), at: 0)
        control.model.take(
            try Self.json(Self.approval("pending", "other").replacing("c0ffee", with: "decade"))
        )
        #expect(control.question == nil && control.press(.letter("y"), at: 1000) == nil)
    }

    @Test func `an option is an answer after a y`() throws {
        var control = try Self.control(Self.question)
        _ = control.press(.letter("3"), at: 0)
        #expect(control.question == nil)
        _ = control.press(.letter("2"), at: 0)
        #expect(control.question?.text == "Answer: green?")
        guard case .answer(_, part: "colour", label: "green")? = control.press(.letter("y"), at: 500) else {
            Issue.record("no answer")
            return
        }
    }

    @Test func `a run is stopped after a y, and the choice follows its session`() throws {
        var control = try Self.control(Self.hello(), Self.started("r1"), Self.started("r2", "agent:main:work"))
        _ = control.press(.down, at: 0)
        #expect(control.selected == .run("r2"))
        _ = control.press(.letter("x"), at: 0)
        #expect(control.question?.text == "Stop the run in agent:main:work?")
        guard case .stop(let run)? = control.press(.letter("y"), at: 500) else {
            Issue.record("nothing is stopped")
            return
        }
        #expect(run.id == "r2")
        control.model.take(
            try Self.json(#"{"type":"session","sessionInfo":{"key":"agent:main:work"}}"#)
        )
        control.model.take(
            try Self.json(#"{"type":"run.ended","run":{"id":"r2","session":"agent:main:work","state":"aborted"}}"#)
        )
        #expect(control.selected == .session("agent:main:work"))
        control.model.take(try Self.json(Self.started("r3", "agent:main:work")))
        #expect(control.selected == .run("r3"))
    }

    @Test func `q leaves the details first, then the program`() throws {
        var control = try Self.control(Self.started("r1"))
        guard case .read("r1")? = control.press(.enter, at: 0) else {
            Issue.record("it is not opened")
            return
        }
        #expect(control.shown == .run("r1"))
        #expect(control.press(.letter("q"), at: 0) == nil && control.shown == nil)
        guard case .quit? = control.press(.letter("q"), at: 0) else {
            Issue.record("it does not end")
            return
        }
    }

    @Test func `the choice stays in the list`() throws {
        var control = try Self.control(Self.approval(), Self.entry("queued"))
        for key in [TopKey.up, .end, .down, .pageDown, .home, .pageUp] {
            _ = control.press(key, at: 0)
            #expect(control.selected.map(control.model.items.contains) == true)
        }
        control.model.take(try Self.json(Self.approval("allowed")))
        #expect(control.selected == .entry("e1"))
    }
}
