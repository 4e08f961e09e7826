import Basics

/// Names every tool of the gateway; commands go to `CommandLabels`.
package enum ToolLabels {
    static func label(tool: String, arguments: ToolArguments) -> ActivityLabel {
        let name = tool.lowercased()
        if isShell(name) {
            return arguments.command.map { CommandLabels.label(of: $0) }
                ?? ActivityLabel("Running a command", .terminal)
        }
        if let label = file(name, arguments) ?? lookup(name, arguments) { return label }
        if let actions = actions[name] { return actions.label(for: arguments) }
        if let fixed = fixed[name] { return ActivityLabel(fixed.text, fixed.category) }
        return other(tool)
    }

    package static func isShell(_ name: String) -> Bool { name == "exec" || name == "bash" || name.hasPrefix("shell") }

    /// Tools that work on files by path.
    private static func file(_ name: String, _ arguments: ToolArguments) -> ActivityLabel? {
        func verb(_ verb: String) -> ActivityLabel {
            ActivityLabel("\(verb) \(arguments.path.flatMap { LabelText.name(ofPath: $0) } ?? "file")", .fileSystem)
        }
        if name == "read" || name.hasPrefix("fs.read") || name.hasPrefix("file_read") { return verb("Reading") }
        if name == "write" || name.hasPrefix("fs.write") || name.hasPrefix("file_write") { return verb("Writing") }
        if name == "edit" || name.hasPrefix("fs.edit") || name.hasPrefix("file_edit") { return verb("Editing") }
        if name.hasPrefix("fs.") { return ActivityLabel("Updating files", .fileSystem) }
        if name == "apply_patch" {
            return ActivityLabel(PatchFiles.label(of: arguments.text("input", "patch") ?? ""), .fileSystem)
        }
        if name == "ls" {
            let folder = arguments.path.flatMap { LabelText.name(ofPath: $0) }
            return ActivityLabel("Listing \(folder ?? "files")", .fileSystem)
        }
        return nil
    }

    /// Tools that search or fetch.
    private static func lookup(_ name: String, _ arguments: ToolArguments) -> ActivityLabel? {
        let query = arguments.text("query", "q", "pattern").map { LabelText.quoted($0) }
        if name == "web_search" {
            return ActivityLabel("Searching the web" + (query.map { " for \($0)" } ?? ""), .search)
        }
        if name == "memory_search" {
            return ActivityLabel("Searching memory" + (query.map { " for \($0)" } ?? ""), .memory)
        }
        if name == "memory_get" {
            let file = arguments.path.flatMap { LabelText.name(ofPath: $0) }
            return ActivityLabel("Reading \(file ?? "memory")", .memory)
        }
        if name == "web" || name == "web_browse" || name.hasPrefix("browser") {
            return BrowserLabels.label(name, arguments)
        }
        if name == "web_fetch" || name == "fetch" || name.hasPrefix("http") {
            let host = arguments.text("url").flatMap { LabelText.host(in: $0) }
            return ActivityLabel(host.map { "Fetching \($0)" } ?? "Fetching data", .network)
        }
        if ["search", "grep", "find", "glob"].contains(name) || name.hasPrefix("vector") {
            return ActivityLabel(query.map { "Searching \($0)" } ?? "Searching", .search)
        }
        return nil
    }

    /// Any other tool by its name; MCP tools carry their server's.
    private static func other(_ tool: String) -> ActivityLabel {
        var parts = tool.components(separatedBy: "__")
        if parts.count == 3, parts[0].lowercased() == "mcp" { parts.removeFirst() }
        if parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty {
            return ActivityLabel("Using \(words(parts[1])) (\(words(parts[0])))", .generic)
        }
        let shown = words(tool)
        return ActivityLabel(shown.isEmpty ? "Using a tool" : "Using \(shown)", .generic)
    }

    private static func words(_ name: String) -> String {
        SecretMask.name(LabelText.collapsed(String(name.map { $0 == "_" || $0 == "-" ? " " : $0 })))
    }

    private static let fixed: [String: (text: String, category: ActivityCategory)] = [
        "canvas": ("Working on canvas", .media),
        "image": ("Looking at an image", .media),
        "image_generate": ("Creating an image", .media),
        "video_generate": ("Creating a video", .media),
        "music_generate": ("Creating music", .media),
        "tts": ("Creating audio", .media),
        "pdf": ("Reading a document", .media),
        "update_plan": ("Updating the plan", .thinking),
        "code_execution": ("Running code", .terminal),
        "llm_task": ("Running a sub-task", .agent),
        "agent_send": ("Coordinating with another agent", .agent),
        "sessions_send": ("Messaging another agent", .agent),
        "sessions_history": ("Reading another session", .agent),
        "sessions_read": ("Reading another session", .agent),
        "sessions_list": ("Checking sessions", .agent),
        "sessions_yield": ("Waiting for sub-agents", .agent),
        "agents_list": ("Checking agents", .agent),
        "session_status": ("Checking session status", .agent),
    ]
}

extension String {
    func components(separatedBy separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.rangeOfText(separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}
