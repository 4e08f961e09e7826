import Basics
import Gateway
import JSONBytes
import Labels
import Ledger
import Testing

@testable import Runs

/// A piece of text costs its own bytes, however long the text of its run is. A copy shows as a buffer that has moved: one that only
/// grows moves when its capacity is doubled.
struct DeltaCostTests {
    private static let word = "word of sixteen "
    private static let now = Timestamp(milliseconds: 1_795_000_000_000)

    enum Form: CaseIterable {
        case agentPiece, agentText, chatPiece, chatText
    }

    /// A run whose text grows by one word after another, as `form` brings them.
    private struct Growth {
        let form: Form
        var memory = RunMemory(labels: .extended)
        var words = 0
        var sequence = 0
        var moves = 0
        var published = ""

        init(_ form: Form) {
            self.form = form
            memory.make("r", session: SessionKey(canonical: "agent:main:main"), now: DeltaCostTests.now)
        }

        mutating func grow(by count: Int) {
            sequence += 1
            words += count
            let before = buffers
            let new = String(repeating: word, count: count)
            switch form {
            case .agentPiece: take(AgentEvent(AgentFrame.piece("r", sequence, new)))
            case .agentText: take(AgentEvent(AgentFrame.text("r", sequence, String(repeating: word, count: words))))
            case .chatPiece: take(ChatEvent(ChatFrame.piece("r", sequence, new)))
            case .chatText: take(ChatEvent(ChatFrame.delta("r", sequence, String(repeating: word, count: words))))
            }
            var changes: [RunChange] = []
            memory.publish("r", to: &changes)
            for case .textAppended(_, _, let text) in changes { published += text }
            moves += zip(before, buffers).count { $0 != $1 }
        }

        private mutating func take(_ event: AgentEvent) {
            memory["r"]?.take(event, resultsInRows: false, now: DeltaCostTests.now)
        }

        private mutating func take(_ event: ChatEvent) {
            memory["r"]?.take(event, triesAgain: false, now: DeltaCostTests.now)
        }

        var comparedBytes: Int { memory["r"]?.text.comparedBytes ?? 0 }

        private var buffers: [UInt] {
            guard let text = memory["r"]?.text else { return [] }
            return [text.agentText.text, text.chatText.text, text.publishedText].map { bytes in
                unsafe bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            }
        }
    }

    @Test(arguments: Form.allCases, [10_000, 100_000, 900_000])
    func `a delta copies and compares nothing of the text before it`(form: Form, length: Int) {
        var growth = Growth(form)
        growth.grow(by: length / Self.word.utf8.count)
        growth.grow(by: 1)
        growth.moves = 0
        let compared = growth.comparedBytes
        for _ in 0..<40 { growth.grow(by: 1) }
        #expect(growth.published == String(repeating: Self.word, count: growth.words))
        #expect(growth.comparedBytes == compared)
        // The stream's buffer and that of the published text.
        #expect(growth.moves <= 2)
    }

    @Test func `the outbox hears once of a run that the gateway has, and again when the entry has changed`() {
        var tracker = RunTracker()
        let key = "01a0c5e0-0000-7000-8000-000000000001"
        tracker.sent(key, session: SessionKey(canonical: "agent:main:main"), text: "Hello", now: Self.now)
        var sequence = 0
        func takes(_ tracker: inout RunTracker) -> Int {
            (0..<5).reduce(0) { count, _ in
                sequence += 1
                let event = GatewayEventPayload(event: "agent", AgentFrame.piece(key, sequence, "word "))
                return count + tracker.receive(event, now: Self.now).count { $0 == .taken(key: key) }
            }
        }
        #expect(takes(&tracker) == 1)
        #expect(takes(&tracker) == 0)
        tracker.entryChanged(key: key)
        #expect(takes(&tracker) == 1)
        tracker.linkOpened(process: .same, now: Self.now)
        #expect(takes(&tracker) == 1)
    }
}
