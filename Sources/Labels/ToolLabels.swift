import JSONBytes

/// Names the calls of every tool; `CommandLineLabel` names command lines.
package enum ToolLabels {
    static func label(tool: String, arguments: ToolArguments) -> ActivityLabel {
        let name = tool.lowercased()
        if isShell(name) {
            return arguments.command.map { CommandLineLabel.label(of: $0) }
                ?? ActivityLabel("Running a command", .terminal)
        }
        return file(name, arguments) ?? lookup(name, arguments) ?? named(name, arguments) ?? actions[name]?.label(
            arguments
        )
            ?? fixed[name] ?? other(tool)
    }

    package static func isShell(_ name: String) -> Bool {
        name == "exec" || name == "bash" || name.hasPrefix("shell")
    }

    /// Tools that work on files by path.
    private static func file(_ name: String, _ arguments: ToolArguments) -> ActivityLabel? {
        let file = arguments.path.flatMap { LabelText.name(ofPath: $0) }
        func files(_ text: String) -> ActivityLabel { ActivityLabel(text, .fileSystem) }
        func isTool(_ verb: String) -> Bool {
            name == verb || name.hasPrefix("fs.\(verb)") || name.hasPrefix("file_\(verb)")
        }
        if isTool("read") { return files("Reading \(file ?? "file")") }
        if isTool("write") { return files("Writing \(file ?? "file")") }
        if isTool("edit") { return files("Editing \(file ?? "file")") }
        if name.hasPrefix("fs.") { return files("Updating files") }
        if name == "apply_patch" { return files(PatchFiles.label(of: arguments.text("input", "patch") ?? "")) }
        return name == "ls" ? files("Listing \(file ?? "files")") : nil
    }

    /// Tools that search or fetch.
    private static func lookup(_ name: String, _ arguments: ToolArguments) -> ActivityLabel? {
        let query = arguments.text("query", "q", "pattern").map { LabelText.quoted($0) }
        let wanted = query.map { " for \($0)" } ?? ""
        if name == "web_search" { return ActivityLabel("Searching the web\(wanted)", .search) }
        if name == "memory_search" { return ActivityLabel("Searching memory\(wanted)", .memory) }
        if name == "memory_get" {
            let file = arguments.path.flatMap { LabelText.name(ofPath: $0) }
            return ActivityLabel("Reading \(file ?? "memory")", .memory)
        }
        if name == "web" || name == "web_browse" || name.hasPrefix("browser") {
            return BrowserLabels.label(name, arguments)
        }
        if name == "web_fetch" || name == "fetch" || name.hasPrefix("http") {
            let host = arguments.text("url").flatMap { LabelText.host(in: $0) }
            return ActivityLabel("Fetching \(host ?? "data")", .network)
        }
        if ["search", "grep", "find", "glob"].contains(name) || name.hasPrefix("vector") {
            return ActivityLabel(query.map { "Searching \($0)" } ?? "Searching", .search)
        }
        return nil
    }

    /// Tools that start something with a name.
    private static func named(_ name: String, _ arguments: ToolArguments) -> ActivityLabel? {
        if name == "sessions_spawn" {
            let agent = arguments.text("label", "name").map { "sub-agent \(LabelText.quoted($0))" }
            return ActivityLabel("Starting \(agent ?? "a sub-agent")", .agent)
        }
        guard name == "cron", arguments.text("action")?.lowercased() == "add",
            let job = arguments["job"]?["name"]?.string ?? arguments.text("name"), !LabelText.collapsed(job).isEmpty
        else { return nil }
        return ActivityLabel("Scheduling \(LabelText.quoted(job))", .schedule)
    }

    /// Any other tool by its name; MCP tools include their server: `mcp__SERVER__TOOL`.
    private static func other(_ tool: String) -> ActivityLabel {
        var parts = tool.split(separator: "__", omittingEmptySubsequences: false)
        if parts.count == 3, parts[0].lowercased() == "mcp" { parts.removeFirst() }
        if parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty {
            return ActivityLabel("Using \(words(parts[1])) (\(words(parts[0])))", .generic)
        }
        let shown = words(tool[...])
        return ActivityLabel(shown.isEmpty ? "Using a tool" : "Using \(shown)", .generic)
    }

    private static func words(_ name: Substring) -> String {
        SecretMask.name(LabelText.collapsed(String(name.map { $0 == "_" || $0 == "-" ? " " : $0 })))
    }

    // MARK: tables

    /// Tools whose `action` argument names the work.
    private struct Actions: Sendable {
        let category: ActivityCategory
        /// The label for an unlisted or missing action.
        let other: String
        let labels: [String: String]

        init(_ category: ActivityCategory, other: String, _ rows: [String: String]) {
            self.category = category
            self.other = other
            labels = rows.reduce(into: [:]) {
                for action in $1.key.split(separator: " ") { $0[String(action)] = $1.value }
            }
        }

        func label(_ arguments: ToolArguments) -> ActivityLabel {
            ActivityLabel(labels[arguments.text("action")?.lowercased() ?? ""] ?? other, category)
        }
    }

    private static let actions: [String: Actions] = [
        "message": Actions(
            .message,
            other: "Sending a message",
            [
                "react": "Adding a reaction", "poll": "Creating a poll", "read": "Reading messages",
                "search": "Searching messages", "edit": "Editing a message", "delete": "Deleting a message",
                "pin": "Pinning a message", "unpin": "Unpinning a message", "reactions": "Checking reactions",
                "thread-create": "Starting a thread", "sendattachment": "Sending a file",
            ]
        ),
        "cron": Actions(
            .schedule,
            other: "Checking scheduled tasks",
            [
                "add": "Scheduling a task", "update": "Updating a scheduled task",
                "remove": "Removing a scheduled task",
                "run": "Running a scheduled task", "wake": "Waking the agent",
            ]
        ),
        "subagents": Actions(
            .agent,
            other: "Checking sub-agents",
            ["kill": "Stopping a sub-agent", "steer send": "Messaging a sub-agent"]
        ),
        "process": Actions(
            .terminal,
            other: "Checking a running command",
            [
                "list": "Checking running commands", "kill remove clear": "Stopping a command",
                "write send-keys submit paste": "Sending input",
            ]
        ),
        "nodes": Actions(
            .media,
            other: "Checking devices",
            [
                "camera_snap": "Taking a photo", "camera_clip": "Recording a video",
                "screen_record": "Recording the screen", "notify": "Sending a notification",
                "location_get": "Getting location", "run invoke": "Running a command on a device",
                "photos_latest": "Looking at photos", "camera_list": "Checking cameras",
            ]
        ),
        "gateway": Actions(
            .terminal,
            other: "Checking the gateway",
            [
                "restart": "Restarting the gateway", "update.run": "Updating the gateway",
                "config.get config.schema": "Reading the gateway configuration",
                "config.patch config.apply": "Updating the gateway configuration",
            ]
        ),
    ]

    /// Tools with a single purpose.
    private static let fixed: [String: ActivityLabel] = [
        "canvas": ActivityLabel("Working on canvas", .media),
        "image": ActivityLabel("Looking at an image", .media),
        "image_generate": ActivityLabel("Creating an image", .media),
        "video_generate": ActivityLabel("Creating a video", .media),
        "music_generate": ActivityLabel("Creating music", .media),
        "tts": ActivityLabel("Creating audio", .media),
        "pdf": ActivityLabel("Reading a document", .media),
        "update_plan": ActivityLabel("Updating the plan", .thinking),
        "code_execution": ActivityLabel("Running code", .terminal),
        "llm_task": ActivityLabel("Running a sub-task", .agent),
        "agent_send": ActivityLabel("Coordinating with another agent", .agent),
        "sessions_send": ActivityLabel("Messaging another agent", .agent),
        "sessions_history": ActivityLabel("Reading another session", .agent),
        "sessions_read": ActivityLabel("Reading another session", .agent),
        "sessions_list": ActivityLabel("Checking sessions", .agent),
        "sessions_yield": ActivityLabel("Waiting for sub-agents", .agent),
        "agents_list": ActivityLabel("Checking agents", .agent),
        "session_status": ActivityLabel("Checking session status", .agent),
    ]
}
