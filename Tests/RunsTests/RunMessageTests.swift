import Ledger
import Testing

@testable import Runs

struct RunMessageTests {
    private func sent() -> RunMessage {
        var message = RunMessage()
        message.words = Words("hello")
        message.sent()
        return message
    }

    @Test func `a row proves delivery once`() {
        var message = sent()
        #expect(message.prove(byRow: .row, mayBeOfRefused: false) == true)
        #expect(message.prove(byRow: .row, mayBeOfRefused: false) == false)
        #expect(!message.awaitsDelivery)
    }

    @Test func `a row that may be of a refused message proves nothing before the agent is at work`() {
        var message = sent()
        #expect(message.prove(byRow: .rowEvent, mayBeOfRefused: true) == false)
        #expect(message.proveBySeenRow() == nil)
        message.seenAtWork()
        #expect(message.proveBySeenRow() == .rowEvent)
        #expect(message.proveBySeenRow() == nil)
    }

    @Test func `a run that begins again needs new signs of work`() {
        var message = sent()
        message.seenAtWork()
        message.beginAgain()
        #expect(message.mayBeRefused)
        #expect(message.prove(byRow: .row, mayBeOfRefused: true) == false)
        message.beginAgain()
        message.seenAtWork()
        #expect(message.proveBySeenRow() == nil)
    }

    @Test func `only our own message may be refused`() {
        var message = RunMessage()
        message.awaitsDelivery = true
        #expect(!message.mayBeRefused)
    }
}
