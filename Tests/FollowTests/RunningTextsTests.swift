import Basics
import EventStream
import JSONBytes
import Service
import Testing

@testable import Follow

/// The texts of runs that go on, put together from the leader's events.
struct RunningTextsTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)

    private static func piece(_ text: String, at offset: Int, run: String = "r1", replaces: Bool = false) -> StreamEvent
    {
        StreamEvent(
            StreamEvent.Delta(run: run, session: "agent:main:main", offset: offset, text: text, replaces: replaces),
            at: now
        )
    }

    private static func end(_ run: String, text: String) -> StreamEvent {
        StreamEvent(transient: "run.ended", at: now, session: "agent:main:main", run: run) { object in
            object.object("run") { $0.member("text", text) }
        }
    }

    private static func texts(_ texts: RunningTexts) -> [String] { texts.events(at: now).compactMap(\.delta?.text) }

    @Test func `pieces that follow each other make a text, counted in UTF-16`() {
        var texts = RunningTexts()
        texts.note(Self.piece("a\u{1F600}", at: 0))
        texts.note(Self.piece("b", at: 3))
        #expect(Self.texts(texts) == ["a\u{1F600}b"])
        #expect(texts.events(at: Self.now).allSatisfy { $0.delta?.replaces ?? false })
        texts.note(Self.end("r1", text: "a\u{1F600}b"))
        #expect(Self.texts(texts).isEmpty)
    }

    /// Found by the readers that move between hosts: they had come to one that had heard no piece of the run yet.
    @Test func `a run without a text so far takes the place of what a client has from a host that was ahead`() {
        var texts = RunningTexts()
        texts.note(StreamEvent(transient: "run.started", at: Self.now, session: "s", run: "r1") { _ in })
        #expect(Self.texts(texts) == [""])
        #expect(texts.events(at: Self.now).allSatisfy { $0.delta?.replaces ?? false })
        texts.note(Self.piece("one", at: 0))
        texts.note(StreamEvent(transient: "run.started", at: Self.now, session: "s", run: "r1") { _ in })
        #expect(Self.texts(texts) == ["one"])
        texts.note(Self.end("r1", text: "one"))
        #expect(Self.texts(texts).isEmpty)
    }

    /// Found by the readers that move between hosts: one came between the two events, and put together a text of nothing.
    @Test func `a run that began and ended while the leader's stream was broken is told with its whole text`() {
        var texts = RunningTexts()
        texts.tear()
        texts.note(StreamEvent(transient: "run.started", at: Self.now, session: "s", run: "r1") { _ in })
        let missed = texts.missed(by: Self.end("r1", text: "one"), at: Self.now)
        #expect(missed.compactMap(\.delta?.text) == ["one"] && missed.allSatisfy { $0.delta?.replaces ?? false })
        #expect(texts.missed(by: Self.end("r1", text: ""), at: Self.now).isEmpty)
    }

    @Test func `a text with a hole is not known until it comes whole`() {
        var texts = RunningTexts()
        texts.note(Self.piece("one", at: 0))
        texts.note(Self.piece("three", at: 7))
        #expect(Self.texts(texts).isEmpty)
        texts.note(Self.piece("four", at: 12))
        #expect(Self.texts(texts).isEmpty)
        texts.note(Self.piece("one two three", at: 0, replaces: true))
        texts.note(Self.piece(" four", at: 13))
        #expect(Self.texts(texts) == ["one two three four"])
    }

    @Test func `what the leader told while its stream was broken comes before the end of the run`() throws {
        var texts = RunningTexts()
        texts.note(Self.piece("one", at: 0))
        texts.note(Self.piece("whole", at: 0, run: "r2"))
        #expect(texts.missed(by: Self.end("r1", text: "one two"), at: Self.now).isEmpty)
        texts.tear()
        let missed = texts.missed(by: Self.end("r1", text: "one two"), at: Self.now)
        #expect(missed.compactMap(\.delta?.text) == ["one two"] && missed.allSatisfy { $0.delta?.replaces ?? false })
        #expect(texts.missed(by: Self.end("r2", text: "whole"), at: Self.now).isEmpty)
        #expect(texts.missed(by: Self.end("r3", text: "unknown"), at: Self.now).isEmpty)
        // The leader has told it whole meanwhile.
        texts.note(Self.piece("one tw", at: 0, replaces: true))
        #expect(texts.missed(by: Self.end("r1", text: "one two"), at: Self.now).isEmpty)
    }

    @Test func `of too much text the longest is left out`() {
        var texts = RunningTexts()
        texts.note(Self.piece("short", at: 0))
        texts.note(Self.piece(String(repeating: "x", count: 16 << 20), at: 0, run: "r2"))
        #expect(Self.texts(texts) == ["short"])
    }
}
