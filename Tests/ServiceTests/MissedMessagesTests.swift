import Basics
import EventStream
import JSONBytes
import Runs
import SQLite
import Store
import Testing

@testable import Service

struct MissedMessagesTests {
    private static let session = SessionKey(canonical: "agent:main:main")

    private func at(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_795_000_000_000 + seconds * 1000) }

    private func message(_ id: String, _ role: ChatMessage.Role, at seconds: Int64, run: String? = nil) -> ChatMessage {
        ChatMessage(id: id, role: role, text: id, at: at(seconds), runID: run)
    }

    private var page: [ChatMessage] {
        [(1, ChatMessage.Role.user), (2, .assistant), (5, .user), (6, .assistant)].map {
            message("m\($0)", $1, at: Int64($0))
        }
    }

    private func found(_ missed: MissedMessages, _ said: PublishedMessages) -> [String] {
        var missed = missed
        missed.miss(Self.session, said)
        return missed.take(from: page[...], of: Self.session, said) { _ in false }.map(\.id)
    }

    private func after(_ place: MessageCursor) -> [String] {
        MissedMessages.messages(page[...], after: place).map(\.id)
    }

    @Test func `a new log begins with the first link`() {
        let said = PublishedMessages(atLeast: 10)
        var missed = MissedMessages()
        #expect(missed.place(in: Self.session, said) == nil)
        let isKnown = missed.linkOpened(gatewayTime: at(3), clockSkewMs: 10_000)
        #expect(!isKnown)
        let isKnownThen = missed.linkOpened(gatewayTime: at(9), clockSkewMs: 0)
        #expect(isKnownThen)
        #expect(found(missed, said) == ["m5", "m6"])
    }

    @Test func `the newest answer marks the place, a later question does not`() {
        var said = PublishedMessages(atLeast: 10)
        var missed = MissedMessages()
        _ = missed.linkOpened(gatewayTime: at(0), clockSkewMs: 0)
        said.add(message("m5", .user, at: 5), in: Self.session)
        said.add(message("m2", .assistant, at: 2), in: Self.session)
        #expect(found(missed, said) == ["m6"])
        said.add(message("m6", .assistant, at: 6), in: Self.session)
        said.add(message("m2", .assistant, at: 2), in: Self.session)
        #expect(missed.place(in: Self.session, said)?.id == "m6")
    }

    /// 2026.4.26, seen live: a message was told with its own run, the gateway answered it in another one, and no event said so.
    @Test func `a message of ours is told again when another run answers it`() {
        var said = PublishedMessages(atLeast: 10)
        said.add(message("m1", .user, at: 1, run: "own"), in: Self.session)
        #expect(said.shows("m1", .sent, run: "own"))
        #expect(!said.shows("m1", .sent, run: "gateway's"))
        #expect(!said.shows("m1", .failed, run: "own"))
    }

    @Test func `a session in which a message of ours waits counts as missed even if others are read first`() {
        let said = PublishedMessages(atLeast: 10)
        var missed = MissedMessages()
        _ = missed.linkOpened(gatewayTime: at(0), clockSkewMs: 0)
        let recent = (0..<MissedMessages.mostRead).map { SessionKey(canonical: "agent:main:s\($0)") }
        #expect(missed.toRead(recent: recent, waiting: [Self.session], said) == recent)
        #expect(missed.place(of: Self.session) != nil)
    }

    @Test func `a place that the page does not show is found by its time`() {
        #expect(after(MessageCursor(at: at(4), id: "gone")) == ["m5", "m6"])
        #expect(after(MessageCursor(at: at(-4), id: "gone")) == ["m1", "m2", "m5", "m6"])
        #expect(after(MessageCursor(at: at(5), id: "gone")) == ["m6"])
    }

    @Test func `behind the time of an event an answer comes with its question`() {
        #expect(after(MessageCursor(at: at(5), id: "")) == ["m5", "m6"])
        #expect(after(MessageCursor(at: at(2), id: "")) == ["m5", "m6"])
    }

    @Test func `an answer that was published as the text of its run is not published again`() {
        var said = PublishedMessages(atLeast: 10)
        let made = message(ChatMessage.id(ofRun: "run-1"), .assistant, at: 9, run: "run-1")
        said.add(made, in: Self.session)
        #expect(said.answer(in: Self.session) == nil)
        let page = [message("m1", .user, at: 1, run: "run-1"), message("m2", .assistant, at: 2, run: "run-1")]
        #expect(said.unsaid(page[...]).map(\.id) == ["m1"])
    }

    @Test func `messages behind a run at work come at its end`() {
        let said = PublishedMessages(atLeast: 10)
        var missed = MissedMessages()
        _ = missed.linkOpened(gatewayTime: at(0), clockSkewMs: 0)
        missed.miss(Self.session, said)
        let ready = missed.take(from: page[...], of: Self.session, said) { $0.id == "m5" }
        #expect(ready.map(\.id) == ["m1", "m2"])
        #expect(missed.place(of: Self.session) != nil)
        let rest = missed.take(from: page[...], of: Self.session, said) { _ in false }
        #expect(rest.map(\.id) == ["m5", "m6"])
        #expect(missed.place(of: Self.session) == nil)
    }

    /// 2026.6.11, seen live: another client's answer, read while a message of ours was under way, never came.
    @Test func `the last answer of a page that may still grow comes with a later page, unless its run is followed`() {
        var said = PublishedMessages(atLeast: 10)
        var missed = MissedMessages()
        _ = missed.linkOpened(gatewayTime: at(0), clockSkewMs: 0)
        missed.miss(Self.session, said)
        let ready = missed.take(from: page[..<3], open: page[3...], of: Self.session, said) { _ in false }
        #expect(ready.map(\.id) == ["m1", "m2", "m5"])
        for message in ready { said.add(message, in: Self.session) }
        let rest = missed.take(from: page[...], of: Self.session, said) { _ in false }
        #expect(rest.map(\.id) == ["m6"])
        missed.miss(Self.session, said)
        _ = missed.take(from: page[..<3], open: page[3...], of: Self.session, said) { $0.id == "m6" }
        #expect(missed.place(of: Self.session) == nil)
    }

    @Test func `another break during the search makes a search of its own`() {
        var missed = MissedMessages()
        _ = missed.linkOpened(gatewayTime: at(0), clockSkewMs: 0)
        missed.linkLost(gatewayTime: at(5))
        let first = missed.beginSearch(gatewayTime: at(6))
        let meanwhile = missed.beginSearch(gatewayTime: at(6))
        missed.linkLost(gatewayTime: at(7))
        _ = missed.found([], besides: [], PublishedMessages(atLeast: 10))
        #expect(first != nil && meanwhile == nil && missed.isOpen)
        let second = missed.beginSearch(gatewayTime: at(8))
        _ = missed.found([], besides: [], PublishedMessages(atLeast: 10))
        #expect(second != nil && !missed.isOpen)
    }

    @Test func `a session that is asked for while it is read is read once more`() {
        var missed = MissedMessages()
        let isAskedWithoutNeed = missed.beginReading(Self.session)
        #expect(!isAskedWithoutNeed)
        _ = missed.linkOpened(gatewayTime: at(0), clockSkewMs: 0)
        missed.miss(Self.session, PublishedMessages(atLeast: 10))
        let begins = [missed.beginReading(Self.session), missed.beginReading(Self.session)]
        let ends = [missed.endReading(Self.session), missed.beginReading(Self.session)]
        let last = missed.endReading(Self.session)
        #expect(begins == [true, false] && ends == [true, true] && !last)
    }

    @Test func `only the newest messages are read`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            for number in 0..<3 {
                _ = try await bench.accept("text \(number)", on: loop)
                try await bench.advance(1_000, on: loop)
            }
            var (missed, open) = try await bench.journal.read { tables in
                let newest = try tables.said.newest(2)
                let end = try #require(try tables.events.newestTime())
                return (
                    try MissedMessages(tables, from: newest.last?.sequence ?? 0, to: end),
                    try PublishedMessages.unsaid(tables.said)
                )
            }
            #expect(open.isEmpty, "the states of older messages are known too")
            let last = bench.clock.wall.adding(milliseconds: -1_000)
            for skew: Int64 in [5_000, 0] { _ = missed.linkOpened(gatewayTime: at(0), clockSkewMs: skew) }
            let (said, other) = (PublishedMessages(atLeast: 10), SessionKey(canonical: "agent:main:other"))
            #expect(missed.place(in: other, said)?.at == last.adding(milliseconds: 5_000))
            #expect(missed.place(in: Self.session, said)?.at == last.adding(milliseconds: 4_000))
        }
    }

    /// The sessions beyond those that are read at once are searched for when a run of theirs ends.
    @Test func `a changed session is not forgotten, however many there are`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            let keys = (0..<20).map { SessionKey(canonical: "agent:main:s\($0)") }
            for key in keys { _ = try await bench.accept("hello", session: key.text, on: loop) }
            var missed = try await bench.journal.read { tables in
                try MissedMessages(tables, from: 0, to: try #require(try tables.events.newestTime()))
            }
            let said = PublishedMessages(atLeast: 10)
            let first = missed.toRead(recent: [], waiting: [], said)
            #expect(first.count == MissedMessages.mostRead)
            #expect(keys.filter { missed.place(of: $0) != nil }.count == first.count)
            let now = bench.clock.wall.milliseconds
            let further = missed.found(keys.map { ($0, now) }, besides: first, said)
            #expect(further.isEmpty && keys.allSatisfy { missed.place(of: $0) != nil })
        }
    }
}
