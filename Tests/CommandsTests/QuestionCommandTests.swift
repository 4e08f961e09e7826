import Configuration
import JSONBytes
import Testing

@testable import Commands

struct QuestionCommandTests {
    private static let id = "5f1c22ab-7a52-4f2e-9d0c-0d7c1d1f5a11"
    private static let colour =
        #"{"id":"colour","header":"Walls","question":"Which colour?","options":[{"label":"red"},{"label":"green","description":"of the door"}],"#
        + #""multiSelect":true,"other":false,"secret":false}"#
    private static let name =
        #"{"id":"name","question":"Whose?","options":[],"multiSelect":false,"other":true,"secret":true}"#

    private static func question(_ parts: String..., state: String = "pending", more: String = "") -> String {
        #"{"id":"\#(id)","session":"agent:main:main","state":"\#(state)","questions":[\#(parts.joined(separator: ","))],"#
            + #""createdAt":"2026-03-04T11:58:00Z","expiresAt":"2026-03-04T12:13:00Z"\#(more)}"#
    }

    @Test func `a pending question is shown with its options`() {
        let io = RecordedIO()
        io.replies = [
            .json(
                200,
                #"{"questions":[\#(Self.question(Self.colour, Self.name))],"pending":1,"live":true,"complete":true}"#
            )
        ]
        #expect(io.run("questions") == .ok)
        #expect(io.requests[0].hasPrefix("GET /v1/questions HTTP"))
        #expect(io.output.hasPrefix("\(Self.id) pending agent:main:main since "))
        #expect(
            io.output.hasSuffix(
                "  Walls: Which colour? (colour)\n    - red\n    - green  of the door\n    takes several\n"
                    + "  Whose? (name)\n    takes your own words, a secret\n"
            )
        )
    }

    @Test(arguments: [
        (["red"], ["colour": ["red"]]), (["colour=red", "green"], ["colour": ["red", "green"]]),
        (["a=b"], ["colour": ["a=b"]]),
    ])
    func `an answer goes out under the id of its question`(words: [String], answers: [String: [String]]) throws {
        let io = RecordedIO()
        let done = Self.question(Self.colour, state: "answered", more: #","endedBy":"owner""#)
        io.replies = [.json(200, Self.question(Self.colour)), .json(200, done)]
        let runner = CommandRunner(io: io, services: CommandServices(version: "1"))
        guard case .finished(let code) = runner.run(["questions", "answer", Self.id] + words) else { return }
        #expect(code == .ok)
        #expect(io.requests[1].hasPrefix("POST /v1/questions/\(Self.id) HTTP"))
        for (part, texts) in answers {
            #expect(try io.body(1)["answers"]?[part]?.elements.map(\.string) == texts)
        }
        #expect(io.output == "\(Self.id) is answered by owner\n")
    }

    @Test func `with several questions each answer names its own`() throws {
        let io = RecordedIO()
        io.replies = [.json(200, Self.question(Self.colour, Self.name))]
        #expect(io.run("questions", "answer", Self.id, "red") == .usage)
        #expect(io.errors.contains("colour=ANSWER name=ANSWER"))
        let named = RecordedIO()
        named.replies = [.json(200, Self.question(Self.colour, Self.name)), .json(200, Self.question(Self.name))]
        #expect(named.run("questions", "answer", Self.id, "colour=red", "name=me", "colour=green") == .ok)
        #expect(try named.body(1)["answers"]?["colour"]?.elements.map(\.string) == ["red", "green"])
        #expect(try named.body(1)["answers"]?["name"]?[0]?.string == "me")
    }

    @Test func `a secret comes from standard input, and cancel says so`() throws {
        let io = RecordedIO()
        io.input = Array("hunter2\n".utf8)
        io.replies = [.json(200, Self.question(Self.name)), .json(200, Self.question(Self.name, state: "answered"))]
        #expect(io.run("questions", "answer", Self.id) == .ok)
        #expect(try io.body(1)["answers"]?["name"]?[0]?.string == "hunter2")
        let other = RecordedIO()
        other.replies = [.json(200, Self.question(Self.name, state: "cancelled"))]
        #expect(other.run("questions", "cancel", Self.id) == .ok)
        #expect(try other.body(0)["cancel"]?.bool == true)
        #expect(other.output == "\(Self.id) is cancelled\n")
    }

    @Test func `one question is one row of a template`() {
        let io = RecordedIO()
        io.replies = [.json(200, Self.question(Self.colour))]
        #expect(io.run("questions", "show", Self.id, "--format", "{{.id}}") == .ok)
        #expect(io.output == "\(Self.id)\n")
    }
}
