import JSONBytes

/// Tools whose `action` says what they do.
struct ToolActions: Sendable {
    var category: ActivityCategory
    /// For an action that is not listed, or none.
    var other: String
    var labels: [String: String]
    /// Puts a name of the arguments behind some labels.
    var naming: (@Sendable (_ action: String, _ arguments: ToolArguments) -> String?)?

    func label(for arguments: ToolArguments) -> ActivityLabel {
        let action = arguments.text("action")?.lowercased() ?? ""
        return ActivityLabel(naming?(action, arguments) ?? labels[action] ?? other, category)
    }
}

extension ToolLabels {
    static let actions: [String: ToolActions] = [
        "message": ToolActions(
            category: .message,
            other: "Sending a message",
            labels: [
                "send": "Sending a message", "react": "Adding a reaction", "poll": "Creating a poll",
                "read": "Reading messages", "search": "Searching messages", "edit": "Editing a message",
                "delete": "Deleting a message", "pin": "Pinning a message", "unpin": "Unpinning a message",
                "reactions": "Checking reactions", "thread-create": "Starting a thread",
                "thread-reply": "Sending a message",
                "sendattachment": "Sending a file",
            ]
        ),
        "cron": ToolActions(
            category: .schedule,
            other: "Checking scheduled tasks",
            labels: [
                "add": "Scheduling a task", "update": "Updating a scheduled task",
                "remove": "Removing a scheduled task",
                "run": "Running a scheduled task", "wake": "Waking the agent",
            ],
            naming: { action, arguments in
                guard action == "add", let name = arguments["job"]?["name"]?.string ?? arguments.text("name") else {
                    return nil
                }
                return LabelText.collapsed(name).isEmpty ? nil : "Scheduling \(LabelText.quoted(name))"
            }
        ),
        "sessions_spawn": ToolActions(
            category: .agent,
            other: "Starting a sub-agent",
            labels: [:],
            naming: { _, arguments in
                arguments.text("label", "name").map { "Starting sub-agent \(LabelText.quoted($0))" }
            }
        ),
        "subagents": ToolActions(
            category: .agent,
            other: "Checking sub-agents",
            labels: ["kill": "Stopping a sub-agent", "steer": "Messaging a sub-agent", "send": "Messaging a sub-agent"]
        ),
        "process": ToolActions(
            category: .terminal,
            other: "Checking a running command",
            labels: [
                "poll": "Checking a running command", "log": "Checking a running command",
                "list": "Checking running commands",
                "kill": "Stopping a command", "remove": "Stopping a command", "clear": "Stopping a command",
                "write": "Sending input", "send-keys": "Sending input", "submit": "Sending input",
                "paste": "Sending input",
            ]
        ),
        "nodes": ToolActions(
            category: .media,
            other: "Checking devices",
            labels: [
                "camera_snap": "Taking a photo", "camera_clip": "Recording a video",
                "screen_record": "Recording the screen",
                "notify": "Sending a notification", "location_get": "Getting location",
                "run": "Running a command on a device",
                "invoke": "Running a command on a device", "photos_latest": "Looking at photos",
                "camera_list": "Checking cameras", "device_info": "Checking devices",
                "device_status": "Checking devices",
            ]
        ),
        "gateway": ToolActions(
            category: .terminal,
            other: "Checking the gateway",
            labels: [
                "restart": "Restarting the gateway", "config.get": "Reading the gateway configuration",
                "config.schema": "Reading the gateway configuration",
                "config.patch": "Updating the gateway configuration",
                "config.apply": "Updating the gateway configuration", "update.run": "Updating the gateway",
            ]
        ),
    ]
}

/// The browser tool: by query, address, then action.
enum BrowserLabels {
    static func label(_ name: String, _ arguments: ToolArguments) -> ActivityLabel {
        if let query = arguments.text("query") {
            return ActivityLabel("Searching \(LabelText.quoted(query))", .browser)
        }
        let request = arguments["request"]
        let action = arguments.text("action") ?? name.split(separator: ".").dropFirst().first.map(String.init) ?? ""
        let address = arguments.text("url", "targetUrl") ?? request?["url"]?.string
        if ["", "open", "navigate", "goto"].contains(action) {
            if let host = address.flatMap({ LabelText.host(in: $0) }) {
                return ActivityLabel("Browsing \(host)", .browser)
            }
            return ActivityLabel(action.isEmpty ? "Using browser" : "Opening a page", .browser)
        }
        let kind = action == "act" ? request?["kind"]?.string ?? arguments.text("kind") ?? "" : action
        return ActivityLabel(labels[kind.lowercased()] ?? "Using browser", .browser)
    }

    private static let labels = [
        "snapshot": "Reading the page", "screenshot": "Taking a screenshot", "click": "Clicking on the page",
        "type": "Typing on the page", "fill": "Filling in a form", "press": "Pressing a key",
        "hover": "Hovering on the page",
        "drag": "Dragging on the page", "select": "Selecting an option", "resize": "Resizing the page",
        "wait": "Waiting for the page", "evaluate": "Running a script on the page", "close": "Closing a page",
        "pdf": "Saving the page", "upload": "Uploading a file", "tabs": "Checking browser tabs",
        "focus": "Switching tabs",
        "start": "Starting the browser", "stop": "Stopping the browser", "status": "Checking the browser",
        "profiles": "Checking the browser", "console": "Reading the console", "dialog": "Answering a dialog",
        "scroll": "Scrolling the page", "search": "Searching the web",
    ]
}
