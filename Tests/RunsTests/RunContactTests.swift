import Basics
import Testing

@testable import Runs

struct RunContactTests {
    private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    @Test func `a process that is gone keeps the time when that was found, until another one starts`() {
        var contact = RunContact(heardAt: at(0))
        contact.reconnected(isGone: false, now: at(10))
        #expect(contact.isUncertain && !contact.isProcessGone)
        contact.reconnected(isGone: true, process: at(15), now: at(20))
        contact.reconnected(isGone: true, process: at(25), now: at(30))
        #expect(contact.goneAt == at(20) && contact.followedAt == at(15))
        contact.reconnected(isGone: true, isNewProcess: true, process: at(35), now: at(40))
        #expect(contact.goneAt == at(40) && contact.followedAt == at(15))
    }

    @Test func `the last row of a run that pages call over is awaited for three seconds`() {
        var contact = RunContact(heardAt: at(0))
        #expect(!contact.isLongOver(now: at(9_999)))
        contact.shownOver(at: at(100))
        contact.shownOver(at: at(200))
        #expect(!contact.isLongOver(now: at(3_099)))
        #expect(contact.isLongOver(now: at(3_100)))
    }

    @Test func `a run may go on late for an hour`() {
        var contact = RunContact(heardAt: at(0))
        #expect(!contact.mayContinueLate(now: at(0)))
        contact.reconnected(isGone: true, now: at(1_000))
        #expect(contact.mayContinueLate(now: at(3_600_999)) && !contact.mayContinueLate(now: at(3_601_000)))
    }
}
