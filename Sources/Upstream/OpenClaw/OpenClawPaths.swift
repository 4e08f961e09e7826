/// The paths of OpenClaw's files, found by its own rules, including its former names.
struct OpenClawPaths {
    let home: String
    let state: String
    let config: String

    init(environment: [String: String], exists: (String) -> Bool) {
        func set(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let home = Self.trimmed(set("OPENCLAW_HOME") ?? set("HOME") ?? "")
        self.home = home
        if let named = set("OPENCLAW_STATE_DIR") {
            state = Self.expanded(named, home: home)
        } else {
            let candidates = [".openclaw", ".clawdbot", ".moldbot"].map { "\(home)/\($0)" }
            state = candidates.first(where: exists) ?? candidates[0]
        }
        if let named = set("OPENCLAW_CONFIG_PATH") {
            config = Self.expanded(named, home: home)
        } else {
            let candidates = ["openclaw.json", "clawdbot.json", "moldbot.json"].map { [state] in "\(state)/\($0)" }
            config = candidates.first(where: exists) ?? candidates[0]
        }
    }

    func expanded(_ path: String) -> String { Self.expanded(path, home: home) }

    private static func expanded(_ path: String, home: String) -> String {
        let full = path == "~" || path.hasPrefix("~/") ? home + path.dropFirst() : path
        return trimmed(full)
    }

    private static func trimmed(_ path: String) -> String {
        path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
