import Basics
import JSONBytes

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

    /// A command line of agent-browser: a search on a page, a page, or just the browser.
    static func text(ofCommand text: String) -> String {
        for mark in ["?q=", "&q="] {
            guard let range = text.rangeOfText(mark) else { continue }
            let value = text[range.upperBound...].prefix { !"&\"' #".contains($0) && !$0.isNewline }
            let decoded = Hex.percentDecoded(Array(value.utf8)[...], plusIsBlank: true)
            let query = LabelText.collapsed(String(decoding: decoded, as: UTF8.self))
            if !query.isEmpty { return "Searching \(LabelText.quoted(query))" }
        }
        return LabelText.host(in: text).map { "Browsing \($0)" } ?? "Using browser"
    }

    private static let labels = [
        "snapshot": "Reading the page", "screenshot": "Taking a screenshot", "click": "Clicking on the page",
        "type": "Typing on the page", "fill": "Filling in a form", "press": "Pressing a key",
        "hover": "Hovering on the page", "drag": "Dragging on the page", "select": "Selecting an option",
        "resize": "Resizing the page", "wait": "Waiting for the page", "evaluate": "Running a script on the page",
        "close": "Closing a page", "pdf": "Saving the page", "upload": "Uploading a file",
        "tabs": "Checking browser tabs", "focus": "Switching tabs", "start": "Starting the browser",
        "stop": "Stopping the browser", "status": "Checking the browser", "profiles": "Checking the browser",
        "console": "Reading the console", "dialog": "Answering a dialog", "scroll": "Scrolling the page",
        "search": "Searching the web",
    ]
}
