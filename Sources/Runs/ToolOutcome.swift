import Basics
import JSONBytes
import Labels

/// What a tool's result says: whether it failed, how it ended, how long it took.
struct ToolOutcome: Sendable, Equatable {
    enum State: Int, Sendable {
        case running, waiting, done, failed
    }

    var state: State = .done
    var durationMilliseconds: Int64?
    var exitCode: Int64?
    var error: String?
    var approvalID: String?

    /// `result` is a result event's `result`, or a transcript row: both have `content` and `details`.
    init(isError: Bool, result: JSONValue?) {
        let details = result?["details"]
        let text = Self.text(of: result)
        let status = details?["status"]?.string?.lowercased()
        durationMilliseconds = details?["durationMs"]?.double.flatMap { $0 >= 0 && $0 < 1e12 ? Int64($0) : nil }
        exitCode = details?["exitCode"]?.int ?? Self.exitCode(in: text)
        approvalID = HistoryBlock.identifier(details?["approvalId"])
        switch status {
        case "running", "backgrounded": state = .running
        case "approval-pending": state = .waiting
        default: break
        }
        let object = Self.errorObject(in: text)
        let failed =
            isError || (exitCode ?? 0) != 0 || ["error", "failed", "timeout", "approval-unavailable"].contains(status)
            || text.trimmingBlanks().lowercased() == "tool not found" || object != nil
        if failed {
            state = .failed
            error = Self.shown(details?["error"]?.string ?? object ?? text)
        }
    }

    /// The result's text parts; a result may be a bare text.
    private static func text(of result: JSONValue?) -> String {
        guard let result else { return "" }
        if let text = result.string { return text }
        return HistoryBlock.list(result["content"]).compactMap { if case .text(let text) = $0 { text } else { nil } }
            .joined(separator: "\n")
    }

    private static let exitMark = "(Command exited with code "

    /// The exec tool's last line.
    private static func exitCode(in text: String) -> Int64? {
        let tail = text.trimmingBlanks().suffix(64)
        guard tail.hasSuffix(")"), let mark = tail.rangeOfText(exitMark) else { return nil }
        return Int64(tail[mark.upperBound...].dropLast())
    }

    /// The error of a result that is a JSON object: its text, or its status.
    private static func errorObject(in text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.count <= ActivityLimits.resultJSONBytes, let first = bytes.first(where: { $0 > 0x20 }),
            first == UInt8(ascii: "{"), let root = (try? JSONDocument(parsing: bytes))?.root
        else { return nil }
        let error = root["error"]
        if let message = error?.string ?? error?["message"]?.string, !message.isEmpty { return message }
        let status = root["status"]?.string?.lowercased()
        let failed =
            (root["isError"]?.bool ?? false) || (root["is_error"]?.bool ?? false) || error?.bool == true
            || ["error", "failed", "timeout"].contains(status) || error?.kind == .object
        guard failed else { return nil }
        return root["message"]?.string ?? status ?? "error"
    }

    /// One masked line without the exit mark; nil where nothing is left.
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
