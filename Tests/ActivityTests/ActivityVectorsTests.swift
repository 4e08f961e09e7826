import JSONBytes
import Testing

@testable import Activity

/// The vectors file beside the package. What only describes the app (its rows, bubbles and seen-sets) is named in
/// `appFacts`; everything else must hold here.
@Suite(.enabled(if: SharedData.isPresent))
struct ActivityVectorsTests {
    private static func vectors(_ kind: String) throws -> [JSONValue] {
        let document = try JSONDocument(parsing: SharedData.bytes("activity-vectors.json"), limits: .gateway)
        return (document.root["vectors"]?.elements).map { $0.filter { $0["kind"]?.string == kind } } ?? []
    }

    @Test func `every tool call is labelled as its vector says`() throws {
        let vectors = try Self.vectors("toolCallLabel")
        #expect(vectors.count > 100)
        for vector in vectors {
            let name = vector["name"]?.string ?? ""
            let request = LabelRequest(tool: vector["input"]?["tool"]?.string ?? "", arguments: vector["input"]?["arguments"])
            let expected = vector["expected"]
            if vector["source"]?.string == "app" {
                let label = request.label(.chowder)
                #expect(label.running == expected?["label"]?.string, "\(name)")
                #expect(label.category.rawValue == expected?["category"]?.string, "\(name)")
            }
            if let app = vector["appShows"]?.string {
                #expect(request.label(.chowder).running == app, "\(name)")
            }
            guard !name.hasPrefix("app-compat/") else { continue }
            let label = request.label(.extended)
            #expect(label.running == expected?["label"]?.string, "\(name)")
            #expect(label.category.rawValue == expected?["category"]?.string, "\(name)")
            if let done = expected?["done859ms"]?.string { #expect(label.done(milliseconds: 859) == done, "\(name)") }
            if let done = expected?["done1200ms"]?.string { #expect(label.done(milliseconds: 1200) == done, "\(name)") }
        }
    }

    @Test func `every thought is labelled as its vector says`() throws {
        for vector in try Self.vectors("thinkingLabel") {
            let input = vector["input"]
            let text = ThinkingLabel.text(of: input?["summary"]?.string ?? input?["thinking"]?.string ?? "")
            #expect(text.map { ThinkingLabel.running($0) } == vector["expected"]?["label"]?.string, "\(vector["name"]?.string ?? "")")
        }
    }

    @Test func `every duration is written as its vector says`() throws {
        for vector in try Self.vectors("duration") {
            let milliseconds = try #require(vector["input"]?["ms"]?.int)
            #expect(DurationText.of(milliseconds: milliseconds) == vector["expected"]?["text"]?.string)
        }
    }
}
