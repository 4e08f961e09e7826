import Basics
import ReadableText

extension CommandIO {
    /// One finding of the doctor as text.
    package func line(isFine: Bool, _ check: String, _ detail: String, hint: String?) -> String {
        let mark = isFine ? style.good("✓") : style.bad("✗")
        let line = "\(mark) \(style.dim(DisplayWidth.padded(check, 13))) \(Printable.line(detail))"
        guard !isFine, let hint else { return line }
        return line + "\n  \(style.bold("→")) \(Printable.line(hint))"
    }
}
