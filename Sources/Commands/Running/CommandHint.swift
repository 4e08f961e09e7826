import Basics
import HTTPModel

/// Translates hints of the API, which name requests such as `POST /v1/outbox/ID/retry`, to commands.
enum CommandHint {
    /// The hint with each request in it replaced by its command.
    static func translated(_ hint: String) -> String {
        var words = hint.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        for index in words.indices.dropLast().reversed() {
            guard let command = command(words[index], words[index + 1]) else { continue }
            words.replaceSubrange(index...index + 1, with: [command])
        }
        return words.joined(separator: " ").replacing("?force=true", with: "--force")
    }

    private static func command(_ method: String, _ target: String) -> String? {
        // Punctuation of the surrounding sentence stays.
        let end = target.lastIndex { $0 != "," && $0 != ";" && $0 != "." }.map(target.index(after:)) ?? target.endIndex
        let parts = target[..<end].split(separator: "?", maxSplits: 1)
        let path = (parts.first ?? "").split(separator: "/").map(decoded)
        let force = parts.count > 1 && parts[1].contains("force=true") ? "--force " : ""
        let command: String
        switch (method, path.count, path.dropFirst().first, path.last) {
        case ("GET", 3, "outbox", let id?): command = "ladle outbox show \(id)"
        case ("DELETE", 3, "outbox", let id?): command = "ladle outbox cancel \(force)\(id)"
        case ("POST", 4, "outbox", "retry"): command = "ladle outbox retry \(path[2])"
        case ("GET", 3, "approvals", let id?): command = "ladle approvals show \(id)"
        case ("POST", 3, "approvals", let id?): command = "ladle approvals allow \(id)"
        case ("GET", 3, "questions", let id?): command = "ladle questions show \(id)"
        case ("GET", 3, "automations", let id?): command = "ladle automations show \(id)"
        case ("GET", 3, "nodes", let id?): command = "ladle nodes show \(id)"
        case ("POST", 4, "runs", "abort"): command = "ladle abort \(path[2])"
        case ("POST", 4, "sessions", "abort"): command = "ladle abort --session \(path[2])"
        default: return nil
        }
        return command + target[end...]
    }

    private static func decoded(_ text: Substring) -> String {
        let name = (try? PercentCoding.decode(Array(text.utf8)[...], offset: 0, plusIsBlank: false)) ?? String(text)
        return Printable.argument(name)
    }
}
