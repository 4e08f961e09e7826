import Configuration
import ReadableText

/// `--help`, made from the table.
package enum HelpText {
    package static func text(path: [String], spec: CommandSpec, width: Int = 80) -> String {
        let name = (["ladle"] + path).joined(separator: " ")
        var parts = ["\(spec.summary).", "Usage: \(usage(name, spec))"]
        let groups = spec.groups.isEmpty ? [CommandGroup("Commands", spec.subcommands)] : spec.groups
        for group in groups {
            let commands = group.commands.filter { !$0.isHidden }.map {
                ($0.name, $0.summary + (spec.usual == $0.name ? " (usual)" : ""))
            }
            if !commands.isEmpty {
                parts.append("\(group.title):\n" + columns(commands, width, least: spec.groups.isEmpty ? 0 : 16))
            }
        }
        let arguments = spec.arguments.map { ($0.usage, $0.summary) }
        if !arguments.isEmpty { parts.append("Arguments:\n" + columns(arguments, width)) }
        let options = (path.isEmpty ? spec.options + [.help] : spec.allOptions).map { ($0.usage, $0.summary) }
        parts.append("Options:\n" + columns(options, width))
        if path == ["serve"] {
            parts.append("Settings:\n" + columns(settings(), width))
        } else if spec.takesConfiguration {
            parts.append("Settings:\n  Those of ladle serve, see ladle serve --help")
        }
        if !spec.examples.isEmpty {
            parts.append("Examples:\n" + spec.examples.map { "  \($0)" }.joined(separator: "\n"))
        }
        if path.isEmpty { parts.append("Exit codes:\n" + columns(exitCodes, width)) }
        return parts.joined(separator: "\n\n") + "\n"
    }

    static func usage(_ name: String, _ spec: CommandSpec) -> String {
        var words = [name]
        if !spec.subcommands.isEmpty { words.append(spec.usual == nil ? "COMMAND" : "[COMMAND]") }
        words.append("[OPTIONS]")
        return (words + spec.arguments.map(\.usage)).joined(separator: " ")
    }

    static let exitCodes = ExitCode.allCases.map { (String($0.rawValue), $0.meaning) }

    /// Every configuration key, the short flags first in their rows.
    static func settings() -> [(String, String)] {
        ConfigurationTable.keys.map { key in
            let flag = key.shortFlag ?? key.flag
            let fallback = key.fallback.map { $0.isEmpty ? "" : " [\($0)]" } ?? ""
            return (key.kind.isBool ? flag : flag + " VALUE", key.summary + fallback)
        }
    }

    /// Two columns; the right one is wrapped at the width.
    /// - Parameter least: the width of the left one where several such lists stand below each other.
    static func columns(_ rows: [(String, String)], _ width: Int, least: Int = 0) -> String {
        let left = max(least, min(28, (rows.map(\.0.count).max() ?? 0) + 4))
        let room = max(20, width - left)
        var lines: [String] = []
        for (name, summary) in rows {
            var label = "  " + name
            let pieces = TextWrap.lines(summary, width: room)
            if label.count + 2 > left {
                lines.append(label)
                label = ""
            }
            for piece in pieces {
                lines.append(label + String(repeating: " ", count: max(1, left - label.count)) + piece)
                label = ""
            }
        }
        return lines.joined(separator: "\n")
    }
}

/// Wraps text at blanks.
enum TextWrap {
    static func lines(_ text: String, width: Int) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = String(word)
            } else if DisplayWidth.of(last) + 1 + DisplayWidth.of(String(word)) <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
