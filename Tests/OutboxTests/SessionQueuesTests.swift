import Testing

@testable import Outbox

struct SessionQueuesTests {
    private let one = QueueKey(session: "one", isControl: false)
    private let two = QueueKey(session: "two", isControl: false)
    private let control = QueueKey(session: "two", isControl: true)

    @Test func `entries stand in order of acceptance, whenever they come`() {
        var queues = SessionQueues(parallel: 4)
        for (id, ordinal) in [("c", 3), ("a", 1), ("b", 2), ("b", 2)] as [(String, Int64)] {
            queues.insert(id, ordinal: ordinal, into: one)
        }
        #expect(queues.places(in: one).map(\.id) == ["a", "b", "c"])
        queues.remove(ordinal: 2, from: one)
        queues.remove(ordinal: 9, from: one)
        #expect(queues.places(in: one).map(\.id) == ["a", "c"])
        #expect(queues.places(in: two).isEmpty)
    }

    @Test func `sessions whose keys differ in bytes only have queues of their own`() {
        #expect(QueueKey(session: "caf\u{E9}", isControl: false) != QueueKey(session: "cafe\u{301}", isControl: false))
    }

    @Test func `a queue is looked at once for all its changes, control queues first`() {
        var queues = SessionQueues(parallel: 4)
        queues.insert("a", ordinal: 1, into: two)
        queues.insert("b", ordinal: 2, into: two)
        queues.insert("c", ordinal: 3, into: control)
        #expect(queues.next() == two)
        #expect(queues.next() == control)
        #expect(queues.next() == nil)
        queues.markAllChanged()
        #expect(queues.next() == control)
    }

    @Test func `a session beyond the limit is looked at again once there is room on the wire`() {
        var queues = SessionQueues(parallel: 1)
        #expect(queues.takeRoomOnWire("a", one) == true)
        #expect(queues.isOnWire(one) == true)
        #expect(queues.takeRoomOnWire("b", two) == false)
        #expect(!queues.isOnWire(two))
        #expect(queues.next() == nil)
        queues.leaveWire("a")
        #expect(queues.next() == two)
        #expect(queues.next() == nil)
    }

    @Test func `a repeat needs no room, and takes some`() {
        var queues = SessionQueues(parallel: 1)
        queues.enterWire("a", one)
        queues.enterWire("b", two)
        queues.leaveWire("a")
        #expect(queues.takeRoomOnWire("a", one) == false)
        queues.forgetOverLimit()
        queues.leaveWire("b")
        #expect(queues.next() == nil)
    }
}
