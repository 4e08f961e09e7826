/// Rows under headings, fitted to a width. The last column gives way first; the others only when that is not enough.
struct TextTable {
    private let headings: [String]
    private var rows: [[String]] = []

    init(_ headings: String...) {
        self.headings = headings
    }

    mutating func add(_ cells: String...) { rows.append(cells.map(Printable.line)) }

    /// - Parameter width: nil for output that is no terminal: nothing is cut then.
    func text(width: Int?, style: Style) -> String {
        var widths = headings.indices.map { column in
            ([headings] + rows).map { DisplayWidth.of(column < $0.count ? $0[column] : "") }.max() ?? 0
        }
        if let width { shrink(&widths, to: width) }
        let lines = ([headings] + rows).enumerated().map { index, cells in
            let line = widths.indices.map { column in
                let cell = DisplayWidth.fitted(column < cells.count ? cells[column] : "", widths[column])
                return column == widths.count - 1 ? cell : DisplayWidth.padded(cell, widths[column])
            }.joined(separator: "  ")
            return index == 0 ? style.dim(line) : line
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func shrink(_ widths: inout [Int], to width: Int) {
        var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - width
        // What is still readable of a column.
        for (column, least) in [(widths.count - 1, 12)] + widths.indices.dropLast().reversed().map({ ($0, 8) })
        where excess > 0 {
            let cut = min(excess, max(0, widths[column] - least))
            widths[column] -= cut
            excess -= cut
        }
    }
}

/// Text from elsewhere must not steer the terminal.
enum Printable {
    /// One line: line ends become blanks, other control characters go.
    static func line(_ text: String) -> String {
        var view = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "\n" || scalar == "\r" || scalar == "\t" {
                view.append(" ")
            } else if scalar.properties.generalCategory != .control, !isDirection(scalar) {
                view.append(scalar)
            }
        }
        return String(view)
    }

    /// Several lines.
    static func text(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }.joined(separator: "\n")
    }

    /// Marks that reorder what follows.
    private static func isDirection(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }
}

/// Colours, or none.
struct Style {
    let isColoured: Bool

    func dim(_ text: String) -> String { coded("2", text) }
    func bold(_ text: String) -> String { coded("1", text) }
    func good(_ text: String) -> String { coded("32", text) }
    func bad(_ text: String) -> String { coded("31", text) }
    func warning(_ text: String) -> String { coded("33", text) }

    /// The name of a state in its colour.
    func state(_ name: String) -> String {
        switch name {
        case "online", "completed", "delivered": good(name)
        case "failed", "offline", "refused", "expired": bad(name)
        case "unconfirmed", "retrying", "connecting", "waiting_for_approval": warning(name)
        default: bold(name)
        }
    }

    private func coded(_ code: String, _ text: String) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
