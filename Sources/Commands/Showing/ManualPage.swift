import Configuration

/// The manual page ladle(1) in roff, made from the table.
package enum ManualPage {
    package static func text(version: String) -> String {
        var lines = [
            ".TH LADLE 1 \"\" \"ladle \(escaped(version))\" \"User Commands\"",
            // Names of settings must not be hyphenated or stretched.
            ".nh", ".ad l",
            ".SH NAME",
            "ladle \\- \(escaped(CommandTable.root.summary))",
            ".SH SYNOPSIS",
            ".B ladle",
            "COMMAND [OPTIONS] [ARGUMENTS]",
            ".SH COMMANDS",
        ]
        for command in CommandTable.root.visibleSubcommands { lines += section(["ladle", command.name], command) }
        lines += [
            ".SH SETTINGS",
            escaped("Each key is also a name in the file, in the environment and a flag of ladle serve."),
        ]
        for key in ConfigurationTable.keys {
            let flags = [key.shortFlag, key.flag].compactMap(\.self).joined(separator: ", ")
            lines += [
                ".TP", ".B \(escaped(key.name))",
                escaped("\(key.summary). Takes \(key.kind.noun). \(flags), \(key.environment)."),
            ]
            if let fallback = key.fallback, !fallback.isEmpty { lines.append(escaped("Default: \(fallback).")) }
        }
        lines.append(".SH EXIT STATUS")
        for (code, meaning) in HelpText.exitCodes { lines += [".TP", ".B \(code)", escaped(meaning)] }
        lines += [
            ".SH FILES", ".TP", ".I $XDG_CONFIG_HOME/ladle/config.json5", "The configuration.", ".TP",
            ".I $XDG_CONFIG_HOME/ladle/contexts.json", "Contexts, with their tokens.", ".TP",
            ".I $XDG_STATE_HOME/ladle", "Database, keys, lock and control socket.", ".SH ENVIRONMENT", ".TP",
            ".B LADLE_CONFIG", "Another configuration file.", ".TP", ".B LADLE_SOCKET",
            "The control socket client commands use.", ".TP", ".B LADLE_URL, LADLE_CLIENT_TOKEN_FILE",
            "The server on another host that client commands use, and a file with a token for it.", ".TP",
            ".B LADLE_CONTEXT", "The context that client commands use.", ".TP", ".B NO_COLOR", "No colours.", ".TP",
            ".B VISUAL, EDITOR",
            "The editor of the edit commands.",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func section(_ path: [String], _ spec: CommandSpec) -> [String] {
        var lines: [String] = []
        if spec.subcommands.isEmpty || spec.usual != nil || path.count == 2 {
            lines += [".SS \(escaped(HelpText.usage(path.joined(separator: " "), spec)))", escaped(spec.summary + ".")]
        }
        for argument in spec.arguments { lines += [".TP", ".I \(escaped(argument.usage))", escaped(argument.summary)] }
        if spec.subcommands.isEmpty {
            for option in spec.allOptions { lines += [".TP", ".B \(escaped(option.usage))", escaped(option.summary)] }
        }
        if !spec.examples.isEmpty {
            lines += [".PP", "Examples:", ".nf"] + spec.examples.map { "  " + escaped($0) } + [".fi"]
        }
        for subcommand in spec.visibleSubcommands { lines += section(path + [subcommand.name], subcommand) }
        return lines
    }

    /// Escapes backslashes and dashes, which are special in roff, and a line start that looks like a request.
    private static func escaped(_ text: String) -> String {
        var result = text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" : ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            default: result.append(character)
            }
        }
        return result
    }
}
