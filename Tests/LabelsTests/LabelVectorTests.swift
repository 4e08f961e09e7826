import JSONBytes
import TestSupport
import Testing

@testable import Labels

/// The cases of `activity-vectors.json` that need only a label. `source: app` and `appShows` hold the Chowder app's
/// words.
struct LabelVectorTests {
    private static func vectors(_ kind: String) throws -> [JSONValue] {
        try TestData.vectors("activity-vectors.json").filter { $0["kind"]?.string == kind }
    }

    @Test func `every tool call is labelled as its vector says`() throws {
        let vectors = try Self.vectors("toolCallLabel")
        #expect(vectors.count > 100)
        for vector in vectors {
            let name = vector["name"]?.string ?? ""
            let request = LabelRequest(
                tool: vector["input"]?["tool"]?.string ?? "",
                arguments: vector["input"]?["arguments"]
            )
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
            #expect(
                text.map { ThinkingLabel.running($0) } == vector["expected"]?["label"]?.string,
                "\(vector["name"]?.string ?? "")"
            )
        }
    }

    @Test func `a thought of eighty characters is shown whole, a longer one ends at a word`() {
        let eighty = String(repeating: "word ", count: 15) + "wordy"
        #expect(eighty.count == 80)
        #expect(ThinkingLabel.running(eighty) == eighty + "...")
        #expect(ThinkingLabel.running(eighty + "s") == String(repeating: "word ", count: 14) + "word…")
    }

    @Test func `every duration is written as its vector says`() throws {
        for vector in try Self.vectors("duration") {
            let milliseconds = try #require(vector["input"]?["ms"]?.int)
            #expect(DurationText.of(milliseconds: milliseconds) == vector["expected"]?["text"]?.string)
        }
    }
}
