import Basics
package import JSONBytes

/// The status as a screenful: `ladle status`, and `GET /v1/status` with `Accept: text/plain`.
package enum StatusText {
    package static func lines(_ status: JSONValue, _ style: TextStyle, _ time: ReadableTime) -> [String] {
        var rows: [(String, String)] = []
        let demo = status["demo"]?.bool == true ? ", demo" : ""
        rows.append(("Ladle", "\(word(status["version"])) since \(time.short(status["startedAt"]?.string))\(demo)"))
        let link = status["link"]
        let state = word(link?["state"])
        rows.append(("Link", style.state(state) + " since \(time.short(link?["since"]?.string))"))
        if let detail = link?["detail"]?.string, state != "online" || link?["code"] != nil {
            rows.append(("", Printable.line(detail) + (link?["code"]?.string.map { " (\(Printable.line($0)))" } ?? "")))
        }
        if let hint = link?["hint"]?.string { rows.append(("", style.bold("→ ") + Printable.line(hint))) }
        if let retry = link?["retryAt"]?.string { rows.append(("", "tries again \(time.relative(retry))")) }
        if let gateway = gateway(link) { rows.append(("Gateway", gateway)) }
        let scopes = link?["scopes"]?.elements.compactMap(\.string) ?? []
        rows.append(("Scopes", scopes.isEmpty ? "none" : Printable.line(scopes.joined(separator: ", "))))
        rows.append(("Outbox", outbox(status["outbox"], style)))
        if let hint = status["outbox"]?["hint"]?.string { rows.append(("", style.bold("→ ") + Printable.line(hint))) }
        if let fault = status["outbox"]?["fault"]?.string {
            let text = "nothing is sent, because the saved entries could not be read: "
            rows.append(("", style.bad(text) + Printable.line(fault)))
        }
        if let closed = status["outbox"]?["closed"]?.string {
            rows.append(("", style.bad("no message is accepted: ") + Printable.line(closed)))
        }
        let waiting = status["approvals"]?["pending"]?.int ?? 0
        let approvals =
            waiting == 0 ? "" : ", " + style.warning(waiting == 1 ? "1 approval waits" : "\(waiting) approvals wait")
        rows.append(("Runs", "\(status["runs"]?["active"]?.int ?? 0) active" + approvals))
        if let fault = status["runs"]?["fault"]?.string {
            let text = "the link stays closed, because the saved runs could not be read: "
            rows.append(("", style.bad(text) + Printable.line(fault)))
        }
        if let devices = status["pairing"]?["pending"]?.int, devices > 0 {
            let who = devices == 1 ? "1 waits" : "\(devices) wait"
            // The command would ask another gateway, or is not installed.
            let next = demo.isEmpty ? ": openclaw devices list" : " (played by the demo; nothing to do)"
            rows.append(("Devices", style.warning(who) + " for the gateway's approval" + next))
        }
        if let broker = status["mqtt"] {
            let state = word(broker["state"])
            let text = style.state(state) + " since \(time.short(broker["since"]?.string)), \(word(broker["broker"]))"
            rows.append(("MQTT", text))
            if let detail = broker["detail"]?.string {
                rows.append(
                    ("", Printable.line(detail) + (broker["code"]?.string.map { " (\(Printable.line($0)))" } ?? ""))
                )
            }
            if let hint = broker["hint"]?.string { rows.append(("", style.bold("→ ") + Printable.line(hint))) }
        }
        if let events = status["events"] {
            rows.append(("Events", "\(events["subscribers"]?.int ?? 0) subscribers, newest \(word(events["last"]))"))
        }
        return rows.map { style.dim(DisplayWidth.padded($0.0, 8)) + $0.1 }
    }

    private static func gateway(_ link: JSONValue?) -> String? {
        var words: [String] = []
        if let url = link?["url"]?.string { words.append(url) }
        if let version = link?["gateway"]?["version"]?.string { words.append("version \(version)") }
        if let number = link?["protocol"]?.int { words.append("protocol \(number)") }
        return words.isEmpty ? nil : Printable.line(words.joined(separator: ", "))
    }

    private static func outbox(_ value: JSONValue?, _ style: TextStyle) -> String {
        let pending = value?["pending"]?.int ?? 0
        let failed = value?["failed"]?.int ?? 0
        let unconfirmed = value?["unconfirmed"]?.int ?? 0
        var text = "\(pending) pending"
        if unconfirmed > 0 { text += ", " + style.warning("\(unconfirmed) unconfirmed") }
        if failed > 0 { text += ", " + style.bad("\(failed) failed") }
        if let refused = value?["refused"]?.int { text += ", " + style.warning("\(refused) refused by the gateway") }
        if pending > 0, let age = value?["oldestAgeMs"]?.int { text += ", oldest \(ReadableTime.span(age))" }
        return text
    }

    private static func word(_ value: JSONValue?) -> String {
        Printable.line(value?.string ?? value?.int.map(String.init) ?? "?")
    }
}
