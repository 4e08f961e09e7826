import Basics
import ReadableText

/// A table with headings, fitted to a width. The last column is cut first, then the middle ones; the first one names
/// the row in other commands, so it is cut last. Empty columns are left out.
struct TextTable {
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
        let shown = ([headings] + rows).map { cells in columns.map { cells[$0] } }
        var widths = columns.indices.map { column in shown.map { DisplayWidth.of($0[column]) }.max() ?? 0 }
        if let width { shrink(&widths, to: width) }
        let lines = shown.enumerated().map { index, cells in
            let line = widths.indices.map { column in
                let cell = DisplayWidth.fitted(cells[column], widths[column])
                return column == widths.count - 1 ? cell : DisplayWidth.padded(cell, widths[column])
            }.joined(separator: "  ")
            return index == 0 ? style.dim(line) : line
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func shrink(_ widths: inout [Int], to width: Int) {
        var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - width
        let last = widths.count - 1
        let between = widths.indices.dropFirst().dropLast().reversed()
        // First down to a readable width, then down to a few characters. The first 13 characters of an id are nearly
        // always unique.
        let readable = [(last, 16)] + between.map { ($0, 11) } + [(last, 5)] + between.map { ($0, 5) }
        let steps = readable + [(0, 14), (last, 1)] + between.map { ($0, 3) } + [(0, 8)]
        for (column, least) in steps where excess > 0 && column >= 0 {
            let cut = min(excess, max(0, widths[column] - least))
            widths[column] -= cut
            excess -= cut
        }
    }
}
