import Gateway
import Testing

@testable import Runs

struct ThoughtTextsTests {
    private func thought(_ data: String) throws -> AgentEvent.Text {
        let event = AgentEvent(json("{\"stream\":\"thinking\",\"data\":\(data)}"))
        guard case .thinking(let thought)? = event.content else { throw Missing() }
        return thought
    }
    private struct Missing: Error {}

    @Test func `a longer text continues the thought, and other words begin the next one`() throws {
        var thoughts = ThoughtTexts()
        #expect(thoughts.take(try thought(#"{"text":"Look"}"#), sequence: 1)?.number == 1)
        let longer = thoughts.take(try thought(#"{"text":"Look at it"}"#), sequence: 2)
        #expect(longer?.number == 1 && longer?.text == "Look at it")
        #expect(thoughts.take(try thought(#"{"text":"Now write"}"#), sequence: 3)?.number == 2)
    }

    @Test func `the transcript adds only thoughts that did not come as events`() throws {
        var thoughts = ThoughtTexts()
        let streamed = thoughts.take(try thought(#"{"text":"Reasoning:\n_Look at it_"}"#), sequence: 1)
        #expect(streamed?.text == "_Look at it_")
        #expect(thoughts.take(row: "Look at it.", key: "a") == false)
        #expect(thoughts.take(row: "Now write", key: "b") == true)
        #expect(thoughts.take(row: "Now write", key: "b") == false)
        #expect(thoughts.rowKeys == ["b"])
    }
}
