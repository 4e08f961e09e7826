import Basics
package import JSONBytes

/// The result of a tool call, from a result event or from a transcript row: both have `content` and `details`.
package struct ToolResult: Sendable {
    private let value: JSONValue
    private let details: JSONValue?
    /// Longer texts are not searched for a JSON error object.
    private static let longestErrorObject = 20_000

    package init(_ value: JSONValue) {
        self.value = value
        details = value["details"]
    }

    /// The text parts joined; a result may also be a bare text.
    package var text: String {
        if let text = value.string { return text }
        return TranscriptBlock.list(value["content"]).compactMap(\.text).joined(separator: "\n")
    }

    package var status: String? { details?["status"]?.string?.lowercased() }
    package var exitCode: Int64? { details?["exitCode"]?.int }
    package var durationMs: Int64? { GatewayTime.duration(details?["durationMs"]) }
    package var approvalId: String? { details?["approvalId"]?.visibleIdentifier }
    package var error: String? { details?["error"]?.string }
    /// The handle of a command that continues in the background.
    package var processId: String? { details?["sessionId"]?.identifier }

    /// The error in a result whose text is a JSON object: its message, or its status.
    package static func error(inObject text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.count <= longestErrorObject, let first = bytes.first(where: { $0 > 0x20 }),
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

    static func isError(_ row: JSONValue) -> Bool { (row["isError"] ?? row["is_error"])?.bool ?? false }
}
