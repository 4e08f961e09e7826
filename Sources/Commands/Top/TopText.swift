import Basics
import ReadableText

/// Lines of a width, out of texts that somebody else wrote.
enum TopText {
    static func line(_ text: String) -> String { Printable.line(text) }

    /// A part of a row. Its text is made safe and fitted here, so that no row can forget it.
    struct Cell {
        let text: String
        let width: Int
        let paint: (String) -> String

        init(_ text: String, _ width: Int, _ paint: @escaping (String) -> String = { $0 }) {
            self.text = Printable.line(text)
            self.width = width
            self.paint = paint
        }

        var fitted: String { paint(DisplayWidth.padded(DisplayWidth.fitted(text, width), width)) }
    }

    /// Columns of fixed widths, a text that takes what is left, and a text at the right edge.
    static func row(
        _ lead: [Cell],
        _ text: String,
        _ trail: String = "",
        width: Int,
        paint: (String) -> String = { $0 }
    ) -> String {
        let trail = DisplayWidth.fitted(Printable.line(trail), max(0, width / 2))
        let used = lead.reduce(0) { $0 + $1.width + 1 }
        let room = max(0, width - used - (trail.isEmpty ? 0 : DisplayWidth.of(trail) + 1))
        let middle = DisplayWidth.padded(DisplayWidth.fitted(Printable.line(text), room), trail.isEmpty ? 0 : room)
        let start = lead.map(\.fitted).joined(separator: " ")
        return [start, middle, paint(trail)].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// The text in lines of at most `width` columns, broken at blanks where there are some.
    static func wrapped(_ text: String, width: Int) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { wrapped(line: String($0), width) }
    }

    private static func wrapped(line text: String, _ width: Int) -> [String] {
        let width = max(4, width)
        var lines: [String] = []
        var line = ""
        var used = 0
        for character in Printable.line(text) {
            let columns = DisplayWidth.of(character)
            if used + columns > width {
                // A long word is broken where the line ends.
                let blank = line.lastIndex(of: " ")
                let rest = blank.map { String(line[line.index(after: $0)...]) } ?? ""
                if let blank, blank > line.startIndex, DisplayWidth.of(rest) < width / 2 {
                    lines.append(String(line[..<blank]))
                    line = rest
                } else {
                    lines.append(line)
                    line = ""
                }
                used = DisplayWidth.of(line)
            }
            line.append(character)
            used += columns
        }
        return lines + [line]
    }
}
