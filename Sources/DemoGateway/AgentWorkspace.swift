/// An agent of the demo host and the files of its workspace.
struct AgentWorkspace {
    struct File {
        var content: [UInt8]
        var updatedAt: Int64
    }

    private static let fileNames = [
        "AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md",
    ]
    /// The gateway also accepts this spelling of MEMORY.md.
    private static let alternateName = "memory.md"

    let id: String
    let name: String
    let emoji: String?
    let theme: String?
    let path: String
    var files: [String: File]

    static func isAllowed(_ name: String) -> Bool { fileNames.contains(name) || name == alternateName }

    static func demoAgents(now: Int64) -> [AgentWorkspace] {
        func files(_ texts: [String: String]) -> [String: File] {
            texts.mapValues { File(content: Array($0.utf8), updatedAt: now) }
        }
        let main = AgentWorkspace(
            id: "main",
            name: "Main",
            emoji: nil,
            theme: nil,
            path: "/home/demo/.openclaw/workspace",
            files: files([
                "IDENTITY.md": identityTemplate, "USER.md": userTemplate,
                "AGENTS.md": "# AGENTS.md\n\nDemo workspace.\n",
                "SOUL.md": "# SOUL.md\n\nBe helpful, be brief.\n", "TOOLS.md": "# TOOLS.md\n\nLocal notes on tools.\n",
                "HEARTBEAT.md": "# HEARTBEAT.md\n\nNothing to check.\n",
            ])
        )
        let scout = AgentWorkspace(
            id: "scout",
            name: "Scout",
            emoji: "🔭",
            theme: "curious",
            path: "/home/demo/.openclaw/workspace-scout",
            files: files([
                "IDENTITY.md": "# IDENTITY.md - Who Am I?\n\n- **Name:** Scout\n- **Vibe:** curious\n- **Emoji:** 🔭\n",
                "USER.md": userTemplate,
            ])
        )
        return [main, scout]
    }

    private static let identityTemplate = """
        # IDENTITY.md - Who Am I?

        _The demo agent has no name yet. Give it one._

        - **Name:**
          _(pick something you like)_
        - **Creature:**
          _(AI? robot? familiar? ghost in the machine? something weirder?)_
        - **Vibe:**
          _(how do you come across? sharp? warm? chaotic? calm?)_
        - **Emoji:**
          _(your signature — pick one that feels right)_
        - **Avatar:**
          _(workspace-relative path, http(s) URL, or data URI)_

        ---

        The demo keeps this file in memory; edits last until it ends.

        """

    private static let userTemplate = """
        # USER.md - About Your Human

        _What the demo agent knows about you._

        - **Name:**
        - **What to call them:**
        - **Pronouns:** _(optional)_
        - **Timezone:**
        - **Notes:**

        ## Context

        _(Nothing noted yet.)_

        """

    /// The value of a label in IDENTITY.md as the gateway reads it: from the label's line, without Markdown marks and
    /// placeholders.
    func identityField(_ label: String) -> String? {
        guard let file = files["IDENTITY.md"] else { return nil }
        var found: String?
        for line in String(decoding: file.content, as: UTF8.self).split(separator: "\n") {
            var line = line.drop { $0 == " " }
            if line.hasPrefix("-") { line = line.dropFirst() }
            guard let colon = line.firstIndex(of: ":") else { continue }
            let name = line[..<colon].filter { $0 != "*" && $0 != "_" && $0 != " " }.lowercased()
            let value = line[line.index(after: colon)...].drop { " *_".contains($0) }
            let trimmed = String(value.reversed().drop { " *_\r".contains($0) }.reversed())
            if name == label, !trimmed.isEmpty, !trimmed.hasPrefix("(") { found = trimmed }
        }
        return found
    }
}
