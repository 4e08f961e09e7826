import Basics
import EventStream
import JSONBytes
import Runs
import SQLite
import Store
import Testing

@testable import Service

struct PublishedMessagesTests {
    private static let session = SessionKey(canonical: "agent:main:main")

    private func at(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_795_000_000_000 + seconds * 1000) }

    private func message(_ id: String, _ role: ChatMessage.Role, at seconds: Int64, run: String? = nil) -> ChatMessage {
        ChatMessage(id: id, role: role, text: id, at: at(seconds), runID: run)
    }

    private let page = [(1, ChatMessage.Role.user), (2, .assistant), (5, .user), (6, .assistant)]

    private func unsaid(_ said: PublishedMessages, after place: MessageCursor?) -> [String] {
        let messages = page.map { message("m\($0)", $1, at: Int64($0)) }
        return place.map { said.unsaid(messages[...], after: $0).map(\.id) } ?? []
    }

    @Test func `a new log begins with the first link`() {
        var said = PublishedMessages(atLeast: 10)
        #expect(said.place(in: Self.session) == nil)
        said.linkOpened(gatewayTime: at(3), clockSkewMs: 10_000)
        said.linkOpened(gatewayTime: at(9), clockSkewMs: 0)
        #expect(unsaid(said, after: said.place(in: Self.session)) == ["m5", "m6"])
    }

    @Test func `the newest answer marks the place, a later question does not`() {
        var said = PublishedMessages(atLeast: 10)
        said.linkOpened(gatewayTime: at(0), clockSkewMs: 0)
        said.add(message("m5", .user, at: 5), in: Self.session)
        said.add(message("m2", .assistant, at: 2), in: Self.session)
        #expect(unsaid(said, after: said.place(in: Self.session)) == ["m6"])
        said.add(message("m6", .assistant, at: 6), in: Self.session)
        said.add(message("m2", .assistant, at: 2), in: Self.session)
        #expect(said.place(in: Self.session)?.id == "m6")
    }

    @Test func `a place that the page does not show is found by its time`() {
        let said = PublishedMessages(atLeast: 10)
        #expect(unsaid(said, after: MessageCursor(at: at(4), id: "gone")) == ["m5", "m6"])
        #expect(unsaid(said, after: MessageCursor(at: at(-4), id: "gone")) == ["m1", "m2", "m5", "m6"])
        #expect(unsaid(said, after: MessageCursor(at: at(5), id: "gone")) == ["m6"])
    }

    @Test func `behind the time of an event an answer comes with its question`() {
        let said = PublishedMessages(atLeast: 10)
        #expect(unsaid(said, after: MessageCursor(at: at(5), id: "")) == ["m5", "m6"])
        #expect(unsaid(said, after: MessageCursor(at: at(2), id: "")) == ["m5", "m6"])
    }

    @Test func `an answer that was published as the text of its run is not published again`() {
        var said = PublishedMessages(atLeast: 10)
        let made = message(ChatMessage.id(ofRun: "run-1"), .assistant, at: 9, run: "run-1")
        said.add(made, in: Self.session)
        #expect(said.place(in: Self.session) == nil)
        let page = [message("m1", .user, at: 1, run: "run-1"), message("m2", .assistant, at: 2, run: "run-1")]
        #expect(said.unsaid(page[...], after: MessageCursor(at: at(0), id: "")).map(\.id) == ["m1"])
    }

    @Test func `only the newest messages are read`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            var ids: [String] = []
            for number in 0..<5 {
                ids.append(try await bench.accept("text \(number)", on: loop) ?? "")
                try await bench.advance(1_000, on: loop)
            }
            var (said, open) = try await bench.journal.read { tables in
                (try PublishedMessages(tables, atLeast: 3), try PublishedMessages.unsaid(tables.said))
            }
            #expect(ids.map { said[$0] } == [nil, nil, .sending, .sending, .sending])
            #expect(open.isEmpty, "the states of older messages are known too")
            #expect(said.sessions == [Self.session])
            let last = bench.clock.wall.adding(milliseconds: -1_000)
            #expect(said.start == last)
            for skew: Int64 in [5_000, 0] { said.linkOpened(gatewayTime: at(0), clockSkewMs: skew) }
            #expect(said.place(in: SessionKey(canonical: "agent:main:other"))?.at == last.adding(milliseconds: 5_000))
            #expect(said.place(in: Self.session)?.at == last.adding(milliseconds: 3_000))
        }
    }
}
