import Basics
import JSONBytes
import Runs
import Testing

@testable import API
@testable import Service

/// The output of `text/plain` answers on a terminal.
struct ReadableTextTests {
    private static let hostile = "one\u{1B}[2Jtwo\u{202E}\nforged\u{2028}line\u{7}"
    private static let shown = "one[2Jtwo forged line"

    @Test func `an event is one line, and steers no terminal`() throws {
        let event = StreamEvent(transient: "run.step", at: Timestamp(milliseconds: 0), session: "agent:main:\nmain") {
            $0.object("step") { step in
                step.member("state", "running")
                step.member("label", Self.hostile)
            }
        }
        #expect(StreamFormat.line(for: event) == "00:00:00 agent:main: main run • \(Self.shown)")
    }

    @Test func `a conversation steers no terminal`() {
        let message = ChatMessage(id: "1", role: .assistant, text: Self.hostile, at: Timestamp(milliseconds: 0))
        let expected = """
            1970-01-01T00:00:00.000Z assistant
              one[2Jtwo
              forged
              line

            """
        #expect(MessageOperations.text([message], asOf: nil) == expected)
    }
}
