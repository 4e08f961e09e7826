/// A QR code as lines of a terminal: two modules in one character, by half blocks.
package enum QRPicture {
    package enum Background: String, Sendable, CaseIterable {
        case dark, light
    }

    /// ISO/IEC 18004 §9.1: readers need this many light modules around the code.
    private static let margin = 4
    /// Black on white regardless of the terminal's colours: colours 16 and 231 are fixed.
    private static let colours = "\u{1b}[38;5;16;48;5;231m"
    private static let plain = "\u{1b}[0m"

    package static func columns(of code: QRCode) -> Int { code.size + 2 * margin }

    /// - Parameter background: the terminal's background; nil if the picture may set its own colours.
    package static func lines(of code: QRCode, on background: Background?) -> [String] {
        let ink = background != .dark
        func hasInk(_ row: Int, _ column: Int) -> Bool {
            let (y, x) = (row - margin, column - margin)
            let isInside = code.modules.indices.contains(y) && code.modules.indices.contains(x)
            return (isInside && code.modules[y][x]) == ink
        }
        let rows = code.size + 2 * margin
        return stride(from: 0, to: rows, by: 2).map { row in
            var line = ""
            for column in 0..<rows {
                // The half row below the last one shows the background.
                let (top, bottom) = (hasInk(row, column), row + 1 < rows && hasInk(row + 1, column))
                line += top ? (bottom ? "█" : "▀") : (bottom ? "▄" : " ")
            }
            return background == nil ? colours + line + plain : line
        }
    }
}
