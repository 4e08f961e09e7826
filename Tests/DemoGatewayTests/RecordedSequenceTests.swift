import JSONBytes
import TestSupport
import Testing

/// The demo in the shapes of recorded releases: the same steps bring frames of the same kinds in the same order.
struct RecordedSequenceTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let release: String

        var testDescription: String { "\(name), \(release)" }
    }

    static let cases: [Case] = {
        let listed = try? TestData.document("gateway-sequences.json")["cases"]
        return listed?.elements.map {
            Case(name: $0["name"]?.string ?? "", release: $0["release"]?.string ?? "")
        } ?? []
    }()

    @Test
    func `sequences are recorded`() { #expect(Self.cases.count > 25) }

    @Test(arguments: cases)
    func `a recorded client sees the same`(_ wanted: Case) throws {
        let listed = try TestData.document("gateway-sequences.json")["cases"]?.elements.first {
            $0["name"]?.string == wanted.name && $0["release"]?.string == wanted.release
        }
        let recorded = try #require(listed)
        let player = try ShapePlayer(wanted.release)
        for step in recorded["steps"]?.elements.map({ $0 }) ?? [] { try player.play(step) }
        player.finish()
        let words = recorded["words"]?.elements.compactMap(\.string) ?? []
        let difference = player.words.difference(from: words)
        #expect(
            player.words == words,
            "came: \(player.words.joined(separator: "; ")) | \(difference.map { "\($0)" }.joined(separator: "; "))"
        )
    }
}
