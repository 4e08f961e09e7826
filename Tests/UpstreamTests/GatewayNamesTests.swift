import Gateway
import JSONBytes
import Testing

@testable import Upstream

struct GatewayNamesTests {
    private func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }

    @Test func `answers are counted by method and code, and their words are not kept`() throws {
        var names = GatewayNames()
        let words =
            #"{"code":"INVALID_REQUEST","message":"Session \"secret plan\" changed","details":{"reason":"session-settings-changed"}}"#
        names.saw(.ok(nil), of: "chat.send")
        names.saw(.ok(nil), of: "chat.send")
        names.saw(.failed(GatewayError(try json(words)), payload: nil), of: "chat.send")
        names.saw(.ambiguous(.timedOut), of: "chat.history")
        names.saw(.notDispatched(.offline), of: "chat.history")
        let shown = names.answers.sorted { $0.key < $1.key }.map {
            "\($0.key.method) \($0.key.outcome) \($0.value)"
        }
        #expect(
            shown == [
                "chat.history no answer 1", "chat.send INVALID_REQUEST session-settings-changed 1", "chat.send ok 2",
            ]
        )
    }

    @Test func `events are counted by name, and those that Ladle does not read are marked`() throws {
        var names = GatewayNames()
        for name in ["chat", "progressCard.changed", "progressCard.changed", "a name with words in it"] {
            names.saw(GatewayEvent(name: name, try json(#"{"payload":{"text":"secret plan"}}"#)))
        }
        #expect(names.events == ["chat": 1, "progressCard.changed": 2, "(no name)": 1])
        #expect(names.unread == ["progressCard.changed", "(no name)"])
    }

    @Test func `a gateway that invents names fills no memory`() throws {
        var names = GatewayNames()
        for number in 0..<2_000 {
            names.saw(GatewayEvent(name: "event.\(number)", try json("{}")))
            names.saw(.failed(GatewayError(code: "CODE_\(number)", message: ""), payload: nil), of: "chat.send")
        }
        #expect(names.events.count == 512 && names.answers.count == 512)
    }
}
