import Basics

/// The demo host's agents and the files of their workspaces.
final class DemoAgents {
    private let release: DemoRelease
    private let clock: DemoClock
    private let primitives: DemoPrimitives
    private(set) var workspaces: [AgentWorkspace]

    init(_ release: DemoRelease, _ clock: DemoClock, _ primitives: DemoPrimitives, workspaces: [AgentWorkspace]?) {
        self.release = release
        self.clock = clock
        self.primitives = primitives
        self.workspaces = workspaces ?? AgentWorkspace.demoAgents(now: clock.wallMs)
    }

    subscript(id: String) -> AgentWorkspace? { workspaces.first { $0.id == id } }

    func text(of name: String, agent id: String) -> String? {
        self[id]?.files[name].map { String(decoding: $0.content, as: UTF8.self) }
    }

    /// Replaces a file, or removes it with nil; false if there is no such agent or the name is not allowed.
    @discardableResult
    func write(_ content: [UInt8]?, to name: String, agent id: String) -> Bool {
        guard let place = workspaces.firstIndex(where: { $0.id == id }), AgentWorkspace.isAllowed(name) else {
            return false
        }
        workspaces[place].files[name] = content.map { .init(content: $0, updatedAt: clock.wallMs) }
        return true
    }

    /// Applies a tool's change to the agent's files.
    func apply(_ effect: DemoScript.Effect, agent id: String) {
        switch effect {
        case .writeFiles(let files):
            for (name, text) in files { write(Array(text.utf8), to: name, agent: id) }
        case .rename(let name):
            var lines = (text(of: "IDENTITY.md", agent: id) ?? "")
                .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if let line = lines.firstIndex(where: { $0.hasPrefix("- **Name:**") }) {
                lines[line] = "- **Name:** \(name)"
                // The template has a placeholder on the line below.
                if line + 1 < lines.count, lines[line + 1].hasPrefix("  _(") { lines.remove(at: line + 1) }
            } else {
                lines.append("- **Name:** \(name)")
            }
            write(Array(lines.joined(separator: "\n").utf8), to: "IDENTITY.md", agent: id)
        }
    }

    // MARK: - Methods

    func list(mainKey: String) -> WireValue {
        let choices: WireValue = release >= .june ? DemoSession.thinkingChoices : [:]
        let listed = workspaces.map { agent -> WireValue in
            let name = agent.identityField("name")
            let emoji = agent.identityField("emoji") ?? agent.emoji
            let identity: WireValue = ["name": name, "theme": agent.theme, "emoji": emoji]
            let hasIdentity = name != nil || emoji != nil
            let base: WireValue = [
                "id": agent.id, "name": agent.name, "identity": hasIdentity ? identity : nil,
                "workspace": release >= .june ? agent.path : nil,
                "model": release >= .june ? wireObject(["primary": "demo/demo-1"]) : nil,
                "agentRuntime": release >= .june ? DemoSession.agentRuntime : nil,
            ]
            return base.adding(choices)
        }
        return ["defaultId": "main", "mainKey": mainKey, "scope": "per-sender", "agents": listed]
    }

    func getFile(_ request: DemoRequest) -> DemoReply {
        guard let agent = request.string("agentId").flatMap({ self[$0] }) else { return .invalid("unknown agent id") }
        let name = request.string("name") ?? ""
        guard AgentWorkspace.isAllowed(name) else { return .invalid("unsupported file \"\(name)\"") }
        return .ok(["agentId": agent.id, "workspace": agent.path, "file": entry(agent, name)])
    }

    func setFile(_ request: DemoRequest) -> DemoReply {
        guard let id = request.string("agentId"), let agent = self[id] else { return .invalid("unknown agent id") }
        let name = request.string("name") ?? ""
        guard AgentWorkspace.isAllowed(name) else { return .invalid("unsupported file \"\(name)\"") }
        let old = agent.files[name]
        if let workspace = request.string("expectedWorkspace"), workspace != agent.path {
            return conflict("workspace changed", old)
        }
        if let hash = request.string("expectedHash"), hash != old.map(self.hash) {
            return conflict("file changed since it was read", old)
        }
        if request.bool("expectedMissing") == true, old != nil { return conflict("file exists", old) }
        write(Array((request.string("content") ?? "").utf8), to: name, agent: id)
        return .ok(["ok": true, "agentId": id, "workspace": agent.path, "file": self[id].map { entry($0, name) }])
    }

    private func entry(_ agent: AgentWorkspace, _ name: String) -> WireValue {
        let path = "\(agent.path)/\(name)"
        guard let file = agent.files[name] else { return ["name": name, "path": path, "missing": true] }
        return [
            "name": name, "path": path, "missing": false, "size": file.content.count, "updatedAtMs": file.updatedAt,
            "hash": release.hasHashGuards ? hash(file) : nil,
            "content": String(decoding: file.content, as: UTF8.self),
        ]
    }

    private func hash(_ file: AgentWorkspace.File) -> String { Hex.encode(primitives.sha256(file.content)) }

    private func conflict(_ message: String, _ file: AgentWorkspace.File?) -> DemoReply {
        let details: WireValue = ["type": "agent_file_conflict", "currentHash": file.map(hash)]
        return .failed(DemoError("INVALID_REQUEST", message, details: details))
    }
}
