import Basics
import JSONBytes

/// The labels of the Chowder app. The first match wins, and marks such as `>` count anywhere in the command, as in the app.
enum ChowderLabels {
    static func label(tool: String, arguments sent: ToolArguments) -> ActivityLabel {
        let arguments = sent.cameAsText ? ToolArguments(nil) : sent
        let name = tool.lowercased()
        if ToolLabels.isShell(name) {
            // The app knows `command` only as a string.
            guard let command = arguments["command"]?.string else {
                return ActivityLabel("Running a command", .terminal)
            }
            return self.command(command)
        }
        let file = arguments.text("path").map { lastPart($0) }
        if name == "read" || name.hasPrefix("fs.read") || name.hasPrefix("file_read") {
            return ActivityLabel("Reading \(file ?? "file")", .fileSystem)
        }
        if name == "write" || name.hasPrefix("fs.write") || name.hasPrefix("file_write") {
            return ActivityLabel("Writing \(file ?? "file")", .fileSystem)
        }
        if name.hasPrefix("fs.") { return ActivityLabel("Updating files", .fileSystem) }
        let query = arguments.text("query").map { "Searching \"\(SecretMask.quoted($0))\"" }
        let host = arguments.text("url").flatMap { LabelText.host(in: $0) }
        if name.hasPrefix("browser") || name == "web" || name == "web_browse" {
            return ActivityLabel(query ?? host.map { "Browsing \($0)" } ?? "Using browser", .browser)
        }
        if name == "web_fetch" || name == "fetch" || name.hasPrefix("http") {
            return ActivityLabel(host.map { "Fetching \($0)" } ?? "Fetching data", .network)
        }
        if name == "search" || name == "grep" || name == "find" || name.hasPrefix("vector") {
            return ActivityLabel(query ?? "Searching", .search)
        }
        return ActivityLabel("Using \(SecretMask.name(LabelText.collapsed(tool)))", .generic)
    }

    private static func command(_ command: String) -> ActivityLabel {
        if command.containsText("agent-browser") {
            return ActivityLabel(BrowserLabels.text(ofCommand: command), .browser)
        }
        if ["curl", "wget", "http"].contains(where: { command.containsText($0) }) {
            return ActivityLabel(LabelText.host(in: command).map { "Fetching from \($0)" } ?? "Fetching data", .network)
        }
        if let target = redirectTarget(command) {
            let verb = command.containsText(">>") ? "Appending to" : "Writing"
            return ActivityLabel("\(verb) \(target)", .fileSystem)
        }
        if command.hasPrefix("cat "), !command.contains(">") {
            let words = command.split(separator: " ")
            if words.count > 1 { return ActivityLabel("Reading \(lastPart(String(words[1])))", .fileSystem) }
        }
        if command.containsText("git ") { return ActivityLabel("Running git", .terminal) }
        for (prefixes, text, category) in byStart where prefixes.contains(where: { command.hasPrefix($0) }) {
            return ActivityLabel(text, category)
        }
        return ActivityLabel("Running a command", .terminal)
    }

    private static let byStart: [([String], String, ActivityCategory)] = [
        (["grep ", "rg ", "find "], "Searching files", .search),
        (["ls", "pwd", "stat "], "Checking files", .fileSystem),
        (["mkdir ", "cp ", "mv ", "rm "], "Managing files", .fileSystem),
    ]

    /// The word behind `>>`, else behind `>`, as the app cuts it: at the next blank, quotes and all.
    private static func redirectTarget(_ command: String) -> String? {
        for mark in [">>", ">"] {
            var start: String.Index?
            while let range = command.rangeOfText(mark, from: start) {
                let word = command[range.upperBound...].drop { $0 == " " || $0 == "\t" }.prefix { !$0.isWhitespace }
                if !word.isEmpty { return lastPart(String(word)) }
                start = range.upperBound
            }
        }
        return nil
    }

    private static func lastPart(_ path: String) -> String {
        let last = path.split(separator: "/").last.map(String.init) ?? path
        return SecretMask.name(LabelText.collapsed(last))
    }
}
