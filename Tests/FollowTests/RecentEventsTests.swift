import EventStream
import Service
import Testing

@testable import Follow

/// The newest events of a leader, in memory.
struct RecentEventsTests {
    private static let epoch = "d080b48405"

    private static func id(_ number: Int) throws -> EventID { try EventID(parsing: "\(epoch).\(number)") }

    private static func event(_ number: Int, type: String = "message", bytes: Int = 10) throws -> StreamEvent {
        StreamEvent(
            type: type,
            session: "agent:main:main",
            id: try id(number),
            data: Array(repeating: 0x20, count: bytes)
        )
    }

    private static func everything(_ recent: RecentEvents, after cursor: Int, limit: Int = 1000) throws -> [Int64] {
        try recent.page(after: id(cursor), filter: .everything, limit: limit, bytes: 1 << 30).events.compactMap(
            \.id?.sequence
        )
    }

    @Test func `a cursor is known from the beginning to the last event`() throws {
        var recent = RecentEvents(after: try Self.id(7))
        #expect(try recent.has(after: Self.id(7)) && !recent.has(after: Self.id(6)) && !recent.has(after: Self.id(8)))
        for number in 8...20 { recent.append(try Self.event(number)) }
        #expect(try recent.has(after: Self.id(20)) && !recent.has(after: Self.id(21)))
        #expect(try !recent.has(after: EventID(parsing: "other.9")))
        #expect(try Self.everything(recent, after: 17) == [18, 19, 20])
        #expect(try Self.everything(recent, after: 20) == [])
    }

    @Test func `an event that comes again, or of another log, is not taken`() throws {
        var recent = RecentEvents(after: try Self.id(7))
        recent.append(try Self.event(8))
        recent.append(try Self.event(8))
        recent.append(StreamEvent(type: "message", id: try EventID(parsing: "other.9"), data: []))
        #expect(recent.count == 1)
    }

    @Test func `the oldest go where there are too many, by number and by bytes`() throws {
        var recent = RecentEvents(after: try Self.id(0))
        for number in 1...30_000 { recent.append(try Self.event(number)) }
        #expect(recent.count == 8_192)
        let floor = Int(recent.floor.sequence)
        #expect(floor == 30_000 - 8_192)
        #expect(try Self.everything(recent, after: floor, limit: 2) == [Int64(floor + 1), Int64(floor + 2)])
        var large = RecentEvents(after: try Self.id(0))
        for number in 1...100 { large.append(try Self.event(number, bytes: 1 << 20)) }
        #expect(large.count == 8)
        var huge = RecentEvents(after: try Self.id(0))
        huge.append(try Self.event(1, bytes: 20 << 20))
        #expect(try huge.count == 1 && Self.everything(huge, after: 0) == [1])
    }

    @Test func `a page has what the filter takes, and goes on behind what it has looked at`() throws {
        var recent = RecentEvents(after: try Self.id(0))
        for number in 1...10 {
            recent.append(try Self.event(number, type: number.isMultiple(of: 5) ? "outbox" : "message"))
        }
        let filter = try EventFilter(types: "outbox", session: nil, run: nil, known: ["outbox", "message"])
        let all = recent.page(after: try Self.id(0), filter: filter, limit: 10, bytes: 1000)
        #expect(all.events.compactMap(\.id?.sequence) == [5, 10] && all.next.sequence == 10 && all.isEnd)
        let first = recent.page(after: try Self.id(0), filter: filter, limit: 1, bytes: 1000)
        #expect(first.events.count == 1 && first.next.sequence == 5 && !first.isEnd)
        let short = recent.page(after: try Self.id(0), filter: .everything, limit: 100, bytes: 25)
        #expect(short.events.count == 3 && short.next.sequence == 3)
    }
}
