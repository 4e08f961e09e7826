/// Containers and services.
enum ContainerCommands {
    static func run(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        .terminal("Running container\(image(line))", .running)
    }

    /// The image without registry, tag and digest, after a blank; empty if unknown.
    static func image(_ line: ParsedArguments) -> String {
        guard let name = line.operands.first?.name?.prefix(while: { $0 != ":" && $0 != "@" }), !name.isEmpty else {
            return ""
        }
        return " \(name)"
    }

    /// `systemctl ACTION NAME…`, `launchctl ACTION … NAME`, `service NAME ACTION`.
    static func service(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let words = line.operands
        let isReversed = call.program == "service"
        let action = isReversed ? words.dropFirst().first : words.first
        let names = isReversed ? words.prefix(1) : words.dropFirst()
        let shown = names.suffix(call.program == "launchctl" ? 1 : names.count).listed ?? "services"
        switch action?.text {
        case "start", "enable", "load", "bootstrap": return .terminal("Starting \(shown)", .running)
        case "stop", "disable", "unload", "bootout", "kill": return .terminal("Stopping \(shown)", .running)
        case "restart", "reload", "try-restart", "reload-or-restart", "kickstart":
            return .terminal("Restarting \(shown)", .running)
        case "status", "is-active", "is-enabled", "is-failed", "show", "list", "print", "cat", "list-units",
            "list-unit-files", "list-timers":
            return .terminal("Checking \(shown)", .checking)
        default: return .terminal("Running \(call.program)", .running)
        }
    }
}
