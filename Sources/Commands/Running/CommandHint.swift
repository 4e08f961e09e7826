import Basics
import HTTPModel

/// Makes commands out of hints that can be typed as they are printed. Hints of the API name requests such as
/// `POST /v1/outbox/ID/retry`; other hints name commands, but not where Ladle is.
package enum CommandHint {
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

    // MARK: The place

    /// The hint with each command in it told where Ladle is, if the command line of the user said so: `ladle outbox list`
    /// becomes `ladle outbox list --state DIR`. A command stands at the start, or after a colon.
    package static func placed(_ hint: String, as command: ParsedCommand) -> String {
        let start = "ladle "
        var result = ""
        var rest = hint[...]
        while let found = rest.rangeOfText(start) {
            result += rest[..<found.lowerBound]
            rest = rest[found.lowerBound...]
            let isCommand = result.isEmpty || result.hasSuffix(": ")
            let (names, spec) = isCommand ? named(rest.dropFirst(start.count)) : ("", nil)
            result += start + names
            rest = rest.dropFirst(start.count + names.count)
            guard let spec, !hasPlace(rest) else { continue }
            result += place(of: command, for: spec)
        }
        return result + rest
    }

    /// The words that name a command, and the command.
    private static func named(_ text: Substring) -> (names: String, spec: CommandSpec?) {
        var names: [Substring] = []
        var spec: CommandSpec?
        let end = text.firstIndex { ");,.:".contains($0) } ?? text.endIndex
        for word in text[..<end].split(separator: " ", omittingEmptySubsequences: false) {
            let commands = spec?.subcommands ?? CommandTable.root.subcommands
            guard let next = commands.first(where: { $0.name == word }) else { break }
            names.append(word)
            spec = next
        }
        return (names.joined(separator: " "), spec)
    }

    /// Whether the command that goes on here says itself where Ladle is.
    private static func hasPlace(_ text: Substring) -> Bool {
        let words = text.prefix { $0 != ";" && $0 != "(" && $0 != ":" }.split(separator: " ")
        return words.contains { ["--state", "--socket", "--url", "--context"].contains($0) }
    }

    /// The options of the user's command that say where Ladle is, as far as another command takes them.
    private static func place(of command: ParsedCommand, for spec: CommandSpec) -> String {
        let options = ["--socket", "--url", "--context", "--token-file", "--pin", "--config"]
        var given = options.compactMap { option in command[option].map { (option, $0) } }
        if let state = command.state { given.append(("--state", state)) }
        let taken = spec.allOptions.map(\.name) + (spec.takesConfiguration ? ["--state", "--demo"] : [])
        var words: [String] = []
        for (option, value) in given {
            if taken.contains(option) {
                words.append("\(option) \(Printable.argument(value))")
            } else if option == "--socket", taken.contains("--state"), value.hasSuffix("/ladle.sock") {
                words.append("--state \(Printable.argument(String(value.dropLast("/ladle.sock".count))))")
            }
        }
        if command.isDemo, taken.contains("--demo") { words.append("--demo") }
        return words.map { " " + $0 }.joined()
    }
}
