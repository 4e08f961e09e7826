package import Configuration

/// A parsed command line.
package struct ParsedCommand: Sendable {
    /// The names from the root down, without `ladle`: `["token", "create"]`.
    package let path: [String]
    package let spec: CommandSpec
    package internal(set) var options: [String: [String]] = [:]
    package internal(set) var arguments: [String] = []
    /// Configuration keys given as flags.
    package internal(set) var settings: [SettingsSources.Flag] = []

    package var name: String { path.joined(separator: " ") }

    /// The last value of an option.
    package subscript(option: String) -> String? { options[option]?.last }

    /// The state directory that the command line names.
    package var state: String? { self["--state"] ?? settings.last { $0.key == .state }?.text }

    /// Whether the command line names the demo.
    var isDemo: Bool { has("--demo") || settings.last { $0.key == .demo }.map { $0.text != "false" } ?? false }

    package func has(_ option: String) -> Bool { options[option] != nil }
    package func all(_ option: String) -> [String] { options[option] ?? [] }
    /// The words of a comma-separated list.
    package func words(_ option: String) -> [String] {
        (self[option] ?? "").split(separator: ",").map { $0.filter { $0 != " " } }
    }
}

/// The error of a command line that could not be parsed, with a hint.
package struct UsageError: Error, Equatable, Sendable {
    package let message: String
    package let hint: String?
    /// The command whose help explains more.
    package let command: [String]

    package init(_ message: String, hint: String? = nil, command: [String] = []) {
        self.message = message
        self.hint = hint
        self.command = command
    }
}
