import Gateway
import JSONBytes
import Testing

@testable import Upstream

struct LinkSightingsTests {
    private func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }

    @Test func `answers are counted by method and code, and their words are not kept`() throws {
        var sightings = LinkSightings()
        let words =
            #"{"code":"INVALID_REQUEST","message":"Session \"secret plan\" changed","details":{"reason":"session-settings-changed"}}"#
        sightings.saw(.ok(nil), of: "chat.send")
        sightings.saw(.ok(nil), of: "chat.send")
        sightings.saw(.failed(GatewayError(try json(words)), payload: nil), of: "chat.send")
        sightings.saw(.ambiguous(.timedOut), of: "chat.history")
        sightings.saw(.notDispatched(.offline), of: "chat.history")
        let shown = sightings.answers.sorted { $0.key < $1.key }.map {
            "\($0.key.method) \($0.key.outcome) \($0.value)"
        }
        #expect(
            shown == [
                "chat.history no answer 1", "chat.send INVALID_REQUEST session-settings-changed 1", "chat.send ok 2",
            ]
        )
    }

    @Test func `events are counted by name, and those that Ladle does not read are marked`() throws {
        var sightings = LinkSightings()
        for name in ["chat", "progressCard.changed", "progressCard.changed", "a name with words in it"] {
            sightings.saw(GatewayEvent(name: name, try json(#"{"payload":{"text":"secret plan"}}"#)))
        }
        #expect(sightings.events == ["chat": 1, "progressCard.changed": 2, "(no name)": 1])
        #expect(sightings.unread == ["progressCard.changed", "(no name)"])
    }

    @Test func `a gateway that invents names fills no memory`() throws {
        var sightings = LinkSightings()
        for number in 0..<2_000 {
            sightings.saw(GatewayEvent(name: "event.\(number)", try json("{}")))
            sightings.saw(.failed(GatewayError(code: "CODE_\(number)", message: ""), payload: nil), of: "chat.send")
        }
        #expect(sightings.events.count == 512 && sightings.answers.count == 512)
    }
}
