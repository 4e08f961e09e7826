import Basics
import JSONBytes
import ReadableText
import Testing

/// The lines that show an event, and the status, to a person.
struct EventTextTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }

    @Test(
        arguments: [
            (
                #""reason":"changed","changes":["model","pinned","unread","label"],"sessionInfo":{"model":"opus","pinned":false,"unread":true}"#,
                "changed: model opus, not pinned, unread, no label"
            ),
            (#""reason":"renamed","changes":["label"],"sessionInfo":{"label":"Den"}"#, "renamed: label Den"),
            (
                #""reason":"changed","sessionInfo":{"key":"a","model":"opus","thinking":"low"}"#,
                "seen for the first time: model opus, thinking low"
            ),
            (#""reason":"reset","sessionInfo":{}"#, "reset"),
        ]
    )
    func `a session's event says what changed`(members: String, said: String) throws {
        let event = try parse(#"{"type":"session","session":"agent:main:den",\#(members)}"#)
        #expect(EventText.line(event, at: "09:00:00", .plain) == "09:00:00 agent:main:den session \(said)")
    }

    @Test func `messages that the gateway would not run have the line that cures it`() throws {
        let status = try parse(#"{"outbox":{"pending":2,"refused":1,"hint":"ladle send --session new hello"}}"#)
        let lines = StatusText.lines(status, .plain, ReadableTime(now: 0))
        let place = try #require(lines.firstIndex { $0.hasSuffix("1 refused by the gateway") })
        #expect(lines[place + 1].trimmingBlanks() == "→ ladle send --session new hello")
    }

    @Test func `the demo's device asks for nothing to be done`() throws {
        func devices(demo: Bool) throws -> String? {
            let status = try parse(#"{"version":"1","demo":\#(demo),"pairing":{"pending":1}}"#)
            let lines = StatusText.lines(status, .plain, ReadableTime(now: 0))
            return lines.first { $0.hasPrefix("Devices") }
        }
        #expect(try devices(demo: false) == "Devices 1 waits for the gateway's approval: openclaw devices list")
        #expect(try devices(demo: true)?.contains("openclaw") == false)
    }
}
