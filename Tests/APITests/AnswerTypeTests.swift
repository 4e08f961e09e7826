import HTTPModel
import Server
import Testing

@testable import API

struct AnswerTypeTests {
    private static func head(accept: String?) throws -> RequestHead {
        var head = try RequestHead(method: .delete, target: "/")
        if let accept { head.fields.append(.accept, accept) }
        return head
    }

    @Test(arguments: ["application/problem+json", "text/html", "image/*;q=0", "no type"])
    func `an answer without a body is acceptable to everyone`(accept: String) throws {
        #expect(throws: Never.self) { try Self.head(accept: accept).answerType(among: []) }
    }

    @Test func `operations that answer 204 offer no type`() {
        for name in ["revokeToken", "deleteAvatar"] {
            #expect(RouteTable.routes.first { $0.operation == name }?.produces == [])
        }
    }

    @Test func `a client that names the form of problems alone gets the first offer`() throws {
        for accept in ["application/problem+json", "text/html, application/problem+json;q=0.1"] {
            let offers = [MediaType.plain, .json]
            #expect(try Self.head(accept: accept).answerType(among: offers) == .plain, "\(accept)")
        }
        for accept in ["text/html", "application/problem+json;q=0", "image/*"] {
            #expect(throws: Problem.self, "\(accept)") { try Self.head(accept: accept).answerType(among: [.json]) }
        }
        #expect(
            try Self.head(accept: "application/problem+json, text/plain").answerType(among: [.json, .plain]) == .plain
        )
        #expect(try Self.head(accept: nil).answerType(among: [.json]) == .json)
    }
}
