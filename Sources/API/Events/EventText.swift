import Basics
import JSONBytes
import Service

/// An event as one readable line, for `curl` in a terminal and for shell loops.
enum EventText {
    static func line(for event: StreamEvent) -> String {
        guard let data = try? JSONDocument(parsing: event.data, limits: .gateway).root else { return event.type }
        let place = [event.session, event.run.map { String($0.prefix(8)) }].compactMap { $0 }.joined(separator: " ")
        let prefix = "\(time(data)) \(event.type)\(place.isEmpty ? "" : " \(place)")"
        let rest = detail(of: event, data)
        return Printable.line(rest.isEmpty ? prefix : "\(prefix): \(rest)")
    }

    private static func time(_ data: JSONValue) -> String {
        let text = data["at"]?.string ?? ""
        return text.utf8.count >= 19 ? String(text.dropFirst(11).prefix(8)) : text
    }

    private static func detail(of event: StreamEvent, _ data: JSONValue) -> String {
        switch event.type {
        case "hello":
            "ladle \(data["version"]?.string ?? ""), \(data["resume"]?.string ?? ""), link \(state(data["link"]))"
        case "link": [state(data["link"]), data["link"]?["detail"]?.string].compactMap { $0 }.joined(separator: ", ")
        case "run.started": "started"
        case "run.ended":
            [data["run"]?["state"]?.string, data["run"]?["text"]?.string.map(shortened)]
                .compactMap { $0 }.joined(separator: ": ")
        case "run.step":
            [data["step"]?["state"]?.string, data["step"]?["label"]?.string].compactMap { $0 }
                .joined(separator: " ")
        case "run.delta": shortened(data["text"]?.string ?? "")
        case "message":
            "\(data["message"]?["role"]?.string ?? "message"): \(shortened(data["message"]?["text"]?.string ?? ""))"
        case "outbox":
            "\(data["entry"]?["state"]?.string ?? "") \(shortened(data["entry"]?["text"]?.string ?? ""))"
        case "reset": "reload; events before \(data["oldest"]?.string ?? "now") are gone"
        case "shutdown": data["reason"]?.string ?? ""
        default: ""
        }
    }

    private static func state(_ link: JSONValue?) -> String { link?["state"]?.string ?? "unknown" }

    private static func shortened(_ text: String) -> String { String(text.prefix(500)) }
}
