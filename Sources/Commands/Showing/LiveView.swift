import Basics
import JSONBytes
import ReadableText

/// Continuing output: lines and growing text that stay, and on a terminal one changing line below them. That line goes
/// to standard error, so that a pipe gets only lasting output.
final class LiveView {
    private let io: any CommandIO
    /// A dumb terminal cannot move its cursor.
    private let isLive: Bool
    /// The changing line as it is on the screen.
    private var shown = ""
    /// The cursor's column after growing text; 0 at the start of a line.
    private var column = 0
    /// The steps in progress, newest last.
    private var running: [(id: String, line: String)] = []
    private var ended = RecentNames()
    /// The reasons that stand on the terminal.
    private var explained = RecentNames()
    /// The question shown in the changing line until it is answered, regardless of steps.
    private var question = ""
    /// Lines that arrived during growing text. Each waits for the end of the text's line, and is dropped if all output
    /// ends first.
    private var held: [(text: String, stream: Stream)] = []

    init(_ io: any CommandIO) {
        self.io = io
        isLive = io.isErrorTerminal && io.environment["TERM"] != "dumb"
    }

    /// Shows a step in the changing line while it runs, and as a lasting line when it has ended.
    /// - Parameter prefix: precedes the lasting line.
    func show(_ step: JSONValue, prefix: String = "", on stream: Stream) {
        let id = step["id"]?.string ?? ""
        running.removeAll { $0.id == id }
        let isOver = !["running", "waiting"].contains(step["state"]?.string)
        if !isOver {
            // The agent has stopped talking.
            above { endLine() }
            running.append((id, StepText.line(step, .plain, advice: CommandHint.translated)))
        }
        status(running.last?.line ?? "")
        guard isOver, ended.insert(id) else { return }
        let width = stream.isTerminal(io) ? io.columns - DisplayWidth.ofStyled(prefix) : nil
        line(prefix + StepText.line(step, stream.style(io), width: width, advice: CommandHint.translated), on: stream)
    }

    /// Shows a question in the changing line; an empty text removes it. On a terminal without cursor movement it stays.
    func ask(_ text: String) {
        question = text
        guard isLive else { return text.isEmpty ? () : line(text, on: .error) }
        above { endLine() }
        status(running.last?.line ?? "")
    }

    /// Shows why something waits: in the changing line, and once as lasting text where that has no room for all of it.
    func wait(_ reason: String) {
        let text = Printable.line(reason)
        if DisplayWidth.ofStyled("… " + text) >= io.columns, isLive, explained.insert(text) {
            line("waits: " + text, on: .error)
        }
        status("… " + text)
    }

    /// Removes the reason for waiting: it is over.
    func goOn() { status(running.last?.line ?? "") }

    /// Prints a lasting line.
    func line(_ text: String, on stream: Stream) {
        held.append((text, stream))
        above { writeHeld() }
    }

    /// Prints a piece of growing text.
    func text(_ piece: String) {
        above {
            io.write(piece)
            for character in piece {
                let width = DisplayWidth.of(character)
                column = character.isNewline ? 0 : column + width > io.columns ? width : column + width
            }
            // At the right edge the cursor waits before it wraps; a blank moves it on, and is overwritten.
            if isLive, io.isOutputTerminal, column >= io.columns {
                io.write(" \r")
                column = 0
            } else {
                writeHeld()
            }
        }
    }

    /// Ends the growing text and removes the changing line.
    func end() {
        question = ""
        status("")
        held = []
        endLine()
    }

    private func endLine() {
        if column > 0 { io.write("\n") }
        column = 0
        writeHeld()
    }

    private func writeHeld() {
        guard column == 0 else { return }
        for line in held { line.stream.write(line.text + "\n", io) }
        held = []
    }

    private func status(_ line: String) {
        let fitted = DisplayWidth.fitted(question.isEmpty ? line : question, max(10, io.columns - 1))
        guard isLive, fitted != shown else { return }
        erase()
        shown = fitted
        draw()
    }

    private func above(_ write: () -> Void) {
        erase()
        write()
        draw()
    }

    private func erase() {
        guard !shown.isEmpty else { return }
        io.writeError(column > 0 ? "\u{1B}[J" : "\r\u{1B}[2K")
    }

    /// Draws the changing line. After growing text it is in the next row, and the cursor moves back up.
    private func draw() {
        guard !shown.isEmpty else { return }
        io.writeError(column > 0 ? "\r\n\(shown)\u{1B}[A\r\u{1B}[\(column)C" : shown)
    }

    enum Stream {
        case output, error

        func isTerminal(_ io: any CommandIO) -> Bool { self == .output ? io.isOutputTerminal : io.isErrorTerminal }
        func style(_ io: any CommandIO) -> TextStyle { self == .output ? io.style : io.errorStyle }
        func write(_ text: String, _ io: any CommandIO) { self == .output ? io.write(text) : io.writeError(text) }
    }
}
