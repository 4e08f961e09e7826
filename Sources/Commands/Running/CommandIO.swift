package import POSIX
import ReadableText

/// Everything a command does outside the process. Tests replace it by a recorder.
package protocol CommandIO: AnyObject {
    var environment: [String: String] { get }
    var isOutputTerminal: Bool { get }
    var isErrorTerminal: Bool { get }
    var isInputTerminal: Bool { get }
    /// The columns of the terminal; 80 if it does not report them.
    var columns: Int { get }
    /// The rows of the terminal; 24 if it does not report them.
    var rows: Int { get }
    var nowMilliseconds: Int64 { get }

    func write(_ bytes: [UInt8])
    func writeError(_ bytes: [UInt8])
    /// Standard input to its end; nil if it is longer than `limit`.
    func readInput(limit: Int) -> [UInt8]?
    /// The line that a person types at a terminal; nil at the end of the input.
    func readLine() -> String?
    /// Passes typed keys to `typed` while a command waits for an answer of the server; nil ends that. False if nobody
    /// can type.
    @discardableResult
    func takeKeys(_ typed: ((UInt8) -> Void)?) -> Bool
    /// Takes the whole screen, and hands out what happens while a command waits; nil gives the screen back. When `take`
    /// says no, the wait fails as closed. False if nobody can type.
    @discardableResult
    func takeScreen(_ take: ((WholeScreen.Event) -> Bool)?) -> Bool
    /// Asked before each drawing on the whole screen.
    func showScreen() -> WholeScreen.State
    /// Waits without a server, and hands out what happens on the screen.
    func waitForKeys(milliseconds: Int)
    /// Minutes and seconds east of UTC at a time, in seconds.
    func utcOffset(atSeconds: Int64) -> Int
    func sleep(milliseconds: Int)

    func readFile(_ path: String, limit: Int) throws(FileFault) -> [UInt8]
    /// The same for a file that only its owner may read.
    func readPrivateFile(_ path: String, limit: Int) throws(FileFault) -> [UInt8]
    /// Replaces a file that only its owner may read, and creates its directory.
    func replacePrivateFile(_ path: String, with bytes: [UInt8]) throws(FileFault)
    /// Makes a new file that only its owner may read.
    func makeTemporary(_ bytes: [UInt8], suffix: String) throws(FileFault) -> String
    func remove(_ path: String)
    /// Runs an editor on a file and waits; the result is its exit status.
    func edit(_ path: String, with command: String) -> Int

    /// Replaces this program by another one; returns only on failure.
    func replaceProcess(_ words: [String]) -> FileFault

    func connect(to place: ServerPlace) throws(ClientError) -> any ByteChannel
}

package struct FileFault: Error, Equatable, Sendable {
    package let message: String
    package let hint: String?

    package init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}

extension CommandIO {
    func write(_ text: String) { write(Array(text.utf8)) }
    func writeError(_ text: String) { writeError(Array(text.utf8)) }

    /// Writes bytes as lines; adds a missing line end.
    func writeLines(_ bytes: [UInt8]) { write(bytes.last == 0x0A ? bytes : bytes + [0x0A]) }

    private var allowsColour: Bool { (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb" }
    var style: TextStyle { TextStyle(isColoured: isOutputTerminal && allowsColour) }
    var errorStyle: TextStyle { TextStyle(isColoured: isErrorTerminal && allowsColour) }
    /// The width to which tables are fitted; nil if the output is not a terminal.
    var tableWidth: Int? { isOutputTerminal ? columns : nil }
}

extension CommandIO {
    /// Whether a person at the terminal says yes; everything else is a no.
    func confirms(_ question: String) -> Bool {
        writeError("\(question) [y/N] ")
        let answer = readLine()?.filter { !$0.isWhitespace }.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }
}
