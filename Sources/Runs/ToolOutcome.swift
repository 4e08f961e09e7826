import Basics
import Gateway
import Labels

/// How a tool call ended, read from its result: whether it failed, its exit code and its duration.
struct ToolOutcome: Sendable, Equatable {
    enum State: Int, Sendable {
        case running, waiting, done, failed
    }

    var state: State = .done
    var durationMilliseconds: Int64?
    var exitCode: Int64?
    var error: String?
    var approvalID: String?

    init(isError: Bool, result: ToolResult?) {
        let text = result?.text ?? ""
        durationMilliseconds = result?.durationMs
        exitCode = result?.exitCode ?? Self.exitCode(in: text)
        approvalID = result?.approvalId
        switch result?.status {
        case "running", "backgrounded": state = .running
        case "approval-pending": state = .waiting
        default: break
        }
        let object = ToolResult.error(inObject: text)
        let failed =
            isError || (exitCode ?? 0) != 0
            || ["error", "failed", "timeout", "approval-unavailable"].contains(result?.status)
            || text.trimmingBlanks().lowercased() == "tool not found" || object != nil
        if failed {
            state = .failed
            error = Self.shown(result?.error ?? object ?? text)
        }
    }

    private static let exitMark = "(Command exited with code "

    /// The exit code in the last line of the exec tool's output.
    private static func exitCode(in text: String) -> Int64? {
        let tail = text.trimmingBlanks().suffix(64)
        guard tail.hasSuffix(")"), let mark = tail.rangeOfText(exitMark) else { return nil }
        return Int64(tail[mark.upperBound...].dropLast())
    }

    /// The text as one line, without secrets and without the exit code; nil if nothing is left.
    static func shown(_ text: String) -> String? {
        var rest = text.trimmingBlanks()
        if let mark = rest.rangeOfText(exitMark), rest.hasSuffix(")") {
            rest = rest[..<mark.lowerBound].trimmingBlanks()
        }
        let line = SecretMask.text(LabelText.collapsed(rest.cut(to: 4 * resultLimit))).cut(to: resultLimit)
        return line.isEmpty ? nil : line
    }

    private static let resultLimit = 220
}
