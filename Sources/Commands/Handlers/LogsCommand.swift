import Configuration

extension CommandSpec {
    static let logs = CommandSpec("logs", "Show the log of the service and follow it").with {
        $0.run = LogsCommand.run
        $0.options = [
            .json, OptionSpec("--lines", "N", "How many lines to begin with; 50 by default"),
            OptionSpec("--no-follow", nil, "Only show what is there"),
        ]
    }
}

/// `ladle logs`: shows the log of the service and follows it.
enum LogsCommand {
    private static let usualLines: Int64 = 50

    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let lines = try invocation.number("--lines") ?? usualLines
        let follows = !invocation.command.has("--no-follow")
        let words = command(.current, lines: lines, follows: follows, json: invocation.json, invocation.io.environment)
        // Returns only on failure: otherwise the other program replaces this one.
        let fault = invocation.io.replaceProcess(words)
        throw CommandFailure(
            .unavailable,
            "NO_LOG",
            fault.message,
            hint: "without a service manager the log is the output of ladle serve; of a container: docker logs"
        )
    }

    static func command(
        _ platform: SettingsPlaces.Platform,
        lines: Int64,
        follows: Bool,
        json: Bool,
        _ environment: [String: String]
    ) -> [String] {
        switch platform {
        case .linux:
            // The identifier covers the user's service and the machine's.
            return ["journalctl", "--identifier=ladle", "--lines=\(lines)", "--no-pager"]
                + (json ? ["--output=json"] : []) + (follows ? ["--follow"] : [])
        case .macOS:
            // The log file named in the launchd job.
            return ["tail", "-n", "\(lines)"] + (follows ? ["-F"] : [])
                + [(environment["HOME"] ?? "") + "/Library/Logs/ladle.log"]
        }
    }
}
