import Basics
import ReadableText

/// A table with headings, fitted to a width. The last column is cut first, then the middle ones. The first one names the
/// row in other commands and a state is read at a glance, so these are cut last. Empty columns are left out. On a narrow
/// terminal an id is shown by its end, which other commands take.
struct TextTable {
    /// A terminal with fewer columns shows short ids.
    private static let narrow = 100
    /// The characters of a short id. The next ones are the whole last group of an id.
    private static let shortID = 8
    private static let lastGroup = 12
    /// In the list of sessions the time of the last message gives way to "active".
    private static let states = ["STATE", "STATUS", "UPDATED"]

    private let headings: [String]
    private var rows: [[String]] = []

    init(_ headings: String...) {
        self.headings = headings
    }

    var isEmpty: Bool { rows.isEmpty }

    mutating func add(_ cells: String...) {
        rows.append(headings.indices.map { $0 < cells.count ? Printable.line(cells[$0]) : "" })
    }

    /// - Parameter width: nil for output that is not a terminal, which is never cut.
    func text(width: Int?, style: TextStyle) -> String {
        let columns = headings.indices.filter { column in rows.contains { !$0[column].isEmpty } }
        var shown = ([headings] + rows).map { cells in columns.map { cells[$0] } }
        if let width, width < Self.narrow { Self.shortenIDs(in: &shown) }
        var widths = columns.indices.map { column in shown.map { DisplayWidth.of($0[column]) }.max() ?? 0 }
        let state = columns.firstIndex { Self.states.contains(headings[$0]) }
        if let width { shrink(&widths, to: width, sparing: state) }
        let lines = shown.enumerated().map { index, cells in
            let line = widths.indices.map { column in
                let cell = DisplayWidth.fitted(cells[column], widths[column])
                return column == widths.count - 1 ? cell : DisplayWidth.padded(cell, widths[column])
            }.joined(separator: "  ")
            return index == 0 ? style.dim(line) : line
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func shortenIDs(in shown: inout [[String]]) {
        for column in shown[0].indices {
            let ids = Set(shown.dropFirst().map { $0[column] }.filter { !$0.isEmpty })
            guard !ids.isEmpty, ids.allSatisfy(UUIDv7.isWellFormed) else { continue }
            let length = [shortID, lastGroup].first { length in
                Set(ids.map { $0.suffix(length) }).count == ids.count
            }
            guard let length else { continue }
            for row in shown.indices.dropFirst() { shown[row][column] = String(shown[row][column].suffix(length)) }
        }
    }

    private func shrink(_ widths: inout [Int], to width: Int, sparing state: Int?) {
        var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - width
        let last = widths.count - 1
        let between = widths.indices.dropFirst().dropLast().reversed().filter { $0 != state }
        // First down to a readable width, then down to a few characters.
        let readable = [(last, 16)] + between.map { ($0, 11) } + [(last, 5)] + between.map { ($0, 5) }
        let steps =
            readable + [(0, 14), (last, 1)] + between.map { ($0, 3) } + [(0, 8)] + (state.map { [($0, 3)] } ?? [])
        for (column, least) in steps where excess > 0 && column >= 0 {
            let cut = min(excess, max(0, widths[column] - least))
            widths[column] -= cut
            excess -= cut
        }
    }
}
