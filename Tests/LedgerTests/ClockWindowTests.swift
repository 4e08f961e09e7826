import Basics
import Ledger
import Testing

@Suite struct ClockWindowTests {
    @Test func `a window has both of its ends`() {
        let window = ClockWindow(from: Timestamp(milliseconds: 10), to: Timestamp(milliseconds: 20))
        #expect(window.contains(Timestamp(milliseconds: 10)) && window.contains(Timestamp(milliseconds: 20)))
        #expect(!window.contains(Timestamp(milliseconds: 9)) && !window.contains(Timestamp(milliseconds: 21)))
    }
}
