import Basics
import Configuration
import JSONBytes
import ReadableText

extension CommandSpec {
    static let config = CommandSpec("config", "The configuration").with {
        $0.subcommands = [
            CommandSpec("check", "Check the configuration").with {
                $0.run = ConfigCommands.check
                $0.takesConfiguration = true
                $0.options = [.json]
            },
            CommandSpec("show", "Show every value in force").with {
                $0.run = ConfigCommands.show
                $0.takesConfiguration = true
                $0.options = [.json, OptionSpec("--origin", nil, "Say where each value comes from")]
            },
            CommandSpec("reference", "Print a table of all keys as Markdown").with {
                $0.run = ConfigCommands.reference
            },
        ]
    }
}

enum ConfigCommands {
    static func check(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        var (settings, problems, file) = invocation.settings()
        // Values that are wrong by themselves are left out of the settings, so these are told first.
        if problems.isEmpty, let problem = invocation.services.startProblem(settings) { problems.append(problem) }
        if invocation.json {
            var writer = JSONWriter()
            writer.object { object in
                object.member("ok", problems.isEmpty)
                object.member("file", file)
                object.array("problems") { list in
                    for problem in problems {
                        list.object { member in
                            member.member("origin", problem.origin.description)
                            member.member("message", problem.message)
                            member.member("hint", problem.hint)
                        }
                    }
                }
            }
            invocation.print(String(decoding: writer.bytes, as: UTF8.self))
        } else if problems.isEmpty {
            invocation.print("The configuration is fine" + (file.map { " (\($0))." } ?? " (there is no file)."))
        } else {
            report(problems, to: invocation.io)
        }
        return problems.isEmpty ? .ok : .configuration
    }

    static func show(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let (settings, problems, _) = invocation.settings()
        let origins = invocation.command.has("--origin")
        if invocation.json {
            var writer = JSONWriter()
            settings.write(origins: origins, to: &writer)
            invocation.print(String(decoding: writer.bytes, as: UTF8.self))
        } else {
            var table = origins ? TextTable("KEY", "VALUE", "FROM") : TextTable("KEY", "VALUE")
            for key in ConfigurationTable.keys {
                guard let entry = settings[key] else { continue }
                if origins {
                    table.add(key.name, settings.display(key), entry.origin.description)
                } else {
                    table.add(key.name, settings.display(key))
                }
            }
            invocation.print(table.text(width: invocation.io.tableWidth, style: invocation.style))
        }
        report(problems, to: invocation.io)
        return problems.isEmpty ? .ok : .configuration
    }

    static func reference(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        invocation.print(ConfigurationTable.markdownReference())
        return .ok
    }

    private static func report(_ problems: [ConfigurationProblem], to io: any CommandIO) {
        let style = io.errorStyle
        for problem in problems {
            io.writeError("\(style.bad("config:")) \(Printable.line("\(problem.origin): \(problem.message)"))\n")
            if let hint = problem.hint { io.writeError("  \(style.bold("→")) \(Printable.line(hint))\n") }
        }
    }
}
