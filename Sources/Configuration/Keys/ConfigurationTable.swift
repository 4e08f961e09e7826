import Basics

/// All keys, sorted by name: the single source of the file format, the environment names, the flags and their
/// reference.
package enum ConfigurationTable {
    package static let keys: [ConfigurationKey] = ConfigurationKey.all.sorted { $0.name < $1.name }

    private static let byName = table { [$0.name] }
    private static let byFlag = table { [$0.flag, $0.shortFlag].compactMap(\.self) }
    private static let byEnvironment = table { [$0.environment, $0.shortEnvironment].compactMap(\.self) }
    /// Objects in the file: `gateway`, `access.tailnet`.
    private static let groups: Set<String> = Set(
        keys.flatMap { key in
            let parts = key.name.split(separator: ".")
            return (1..<max(1, parts.count)).map { parts[..<$0].joined(separator: ".") }
        }
    )

    package static func key(named name: String) -> ConfigurationKey? { byName[name] }
    package static func key(flag: String) -> ConfigurationKey? { byFlag[flag] }
    package static func key(environment name: String) -> ConfigurationKey? { byEnvironment[name] }
    static func isGroup(_ name: String) -> Bool { groups.contains(name) }

    /// The key that the name of a group stands for in the file: `gateway: "ws://…"`, `demo: true`.
    static func shorthand(_ group: String) -> ConfigurationKey? { keys.first { $0.short == group } }

    package static func nearest(name: String) -> String? {
        NearestName.of(name, in: groups.union(byName.keys).sorted())
    }
    static func nearest(environment name: String) -> String? { NearestName.of(name, in: byEnvironment.keys.sorted()) }

    private static func table(_ names: (ConfigurationKey) -> [String]) -> [String: ConfigurationKey] {
        keys.reduce(into: [:]) { table, key in
            for name in names(key) { table[name] = key }
        }
    }

    /// The reference of all keys as a Markdown table.
    package static func markdownReference() -> String {
        var text = "| Key | Flag | Environment | Takes | Default | Meaning |\n|---|---|---|---|---|---|\n"
        for key in keys {
            let flags = [key.shortFlag, key.flag].compactMap(\.self).map { "`\($0)`" }.joined(separator: ", ")
            let fallback = key.fallback.map { $0.isEmpty ? "" : "`\($0)`" } ?? ""
            text += "| `\(key.name)` | \(flags) | `\(key.environment)` | \(escaped(key.kind.noun)) | \(fallback) | "
            text += "\(escaped(key.summary)) |\n"
        }
        return text
    }

    private static func escaped(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
    }
}
