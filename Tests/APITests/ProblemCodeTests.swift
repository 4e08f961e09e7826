import HTTPModel
import JSONBytes
import Server
import TestSupport
import Testing

@testable import API

/// The catalogue of problems, the contract and the page for users list the same codes with the same statuses.
@Suite struct ProblemCodeTests {
    /// Each problem code in the contract, with its statuses.
    private static func contract() throws -> [String: Set<Int>] {
        var found: [String: Set<Int>] = [:]
        var places = [try JSONDocument(parsing: OpenAPIDocument.json, limits: .gateway).root]
        while let value = places.popLast() {
            if let properties = value["properties"], let status = properties["status"]?["const"]?.int,
                let code = properties["code"]
            {
                let codes = code["const"].map { [$0] } ?? code["enum"]?.elements.map { $0 } ?? []
                for code in codes.compactMap(\.string) { found[code, default: []].insert(Int(status)) }
            }
            places += value.members.map(\.value) + value.elements.map { $0 }
        }
        return found
    }

    /// The rows of "Answers": codes, statuses, help.
    private static func page() throws -> [String: Set<Int>] {
        let page = String(decoding: try TestData.repository("docs/troubleshooting.md"), as: UTF8.self)
        let answers = try #require(page.split(separator: "\n## ").first { $0.hasPrefix("Answers\n") })
        var found: [String: Set<Int>] = [:]
        for line in answers.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|")
            let statuses = cells[1].split(separator: ",").compactMap { Int($0.drop { $0 == " " }.prefix(3)) }
            for name in cells[0].split(separator: "`") where name.contains(where: \.isUppercase) {
                found[String(name)] = Set(statuses)
            }
        }
        return found
    }

    @Test func `every code is in the contract, and every code of the contract is in the catalogue`() throws {
        let contract = try Self.contract()
        let codes = Set(ProblemCode.allCases.map(\.rawValue))
        #expect(codes.subtracting(contract.keys) == [], "missing in openapi/openapi.yaml")
        #expect(Set(contract.keys).subtracting(codes) == [], "missing in ProblemCode")
        for code in ProblemCode.allCases {
            #expect(contract[code.rawValue]?.contains(Int(code.kind.status.code)) ?? false, "\(code)")
        }
    }

    @Test func `troubleshooting explains every code with its statuses, and no other`() throws {
        #expect(try Self.page() == Self.contract())
    }

    @Test func `a problem takes status, retry and hint from its code`() {
        let problem = Problem(.storeUnavailable, "It is away.")
        #expect(problem.status == .serviceUnavailable)
        #expect(problem.retryable && problem.retryAfterMs == 5000)
        #expect(problem.hint == "ladle doctor")
        let final = Problem(.storeUnavailable, "It was set aside.", hint: "ladle outbox recover", retryable: false)
        #expect(!final.retryable && final.retryAfterMs == nil)
        #expect(final.hint == "ladle outbox recover")
        let limited = Problem(.invalidField, "It is too large.", status: .contentTooLarge, field: "body")
        #expect(limited.status == .contentTooLarge && !limited.retryable)
    }
}
