import Basics
import JSONBytes
import ReadableText

/// One line at the bottom of the terminal with the current step; finished steps stay above it. Written to standard
/// error, so that the output is only the reply.
final class LiveView {
    private let io: any CommandIO
    private let isTerminal: Bool
    private var shown = ""
    private var ended = Set<String>()

    init(_ io: any CommandIO) {
        self.io = io
        isTerminal = io.isErrorTerminal
    }

    func show(_ step: JSONValue) {
        let id = step["id"]?.string ?? ""
        let line = StepText.line(step, io.errorStyle)
        switch step["state"]?.string {
        case "running", "waiting": status(line)
        default:
            guard ended.insert(id).inserted else { return }
            clear()
            io.writeError((isTerminal ? StepText.line(step, io.errorStyle, width: io.columns) : line) + "\n")
        }
    }

    func wait(_ reason: String) { status(io.errorStyle.dim("… " + Printable.line(reason))) }

    func clear() {
        guard isTerminal, !shown.isEmpty else { return }
        io.writeError("\r\u{1B}[2K")
        shown = ""
    }

    private func status(_ line: String) {
        guard isTerminal, line != shown else { return }
        // A line longer than the terminal is wide would leave its rest behind.
        let plain = DisplayWidth.fitted(Self.withoutColour(line), max(10, io.columns - 1))
        io.writeError("\r\u{1B}[2K" + plain)
        shown = line
    }

    private static func withoutColour(_ text: String) -> String {
        var result = ""
        var isCode = false
        for character in text {
            if character == "\u{1B}" {
                isCode = true
            } else if !isCode {
                result.append(character)
            } else if character == "m" {
                isCode = false
            }
        }
        return result
    }
}
