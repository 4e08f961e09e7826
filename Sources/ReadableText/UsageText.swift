import Basics
package import JSONBytes

/// The used share of the subscriptions, in one line: `anthropic 5h 42% (resets 14:10)  Week 63%`.
package enum UsageText {
    /// - Parameter usage: the answer of `GET /v1/usage`.
    package static func line(_ usage: JSONValue, _ time: ReadableTime) -> String {
        var parts = (usage["providers"]?.elements.map(\.self) ?? []).map { provider in
            let id = word(provider["id"])
            if let error = provider["error"]?.string { return "\(id) failed: \(Printable.line(error))" }
            let windows = provider["windows"]?.elements.map { window($0, name: $0["name"], time) } ?? []
            return windows.isEmpty ? id : "\(id) \(windows.joined(separator: "  "))"
        }
        if parts.isEmpty, let today = usage["today"] { parts = ["today \(figures(today))"] }
        if parts.isEmpty { parts = ["nothing is known of the usage yet"] }
        if usage["stale"]?.bool == true, let asOf = usage["asOf"]?.string {
            parts.append("(as of \(time.short(asOf)))")
        }
        return parts.joined(separator: "  ")
    }

    /// The text of an event: `anthropic 5h 45%`, for each window that has crossed a step.
    static func crossed(_ event: JSONValue) -> String {
        let parts = event["crossed"]?.elements.prefix(mostCrossed).map { crossing in
            "\(word(crossing["provider"])) \(window(crossing, name: crossing["window"]))"
        }
        return (parts ?? []).joined(separator: "  ")
    }

    /// More would not fit in a line.
    private static let mostCrossed = 8

    /// `5h 42%`, with the time of the reset if requested.
    private static func window(_ window: JSONValue, name: JSONValue?, _ time: ReadableTime? = nil) -> String {
        let resets = time.flatMap { time in window["resetsAt"]?.string.map { " (resets \(time.short($0)))" } } ?? ""
        return "\(word(name)) \(percent(window["usedPercent"]))\(resets)"
    }

    package static func percent(_ value: JSONValue?) -> String {
        guard let value = value?.double else { return "?" }
        return Int64(exactly: value).map { "\($0)%" } ?? "\(value)%"
    }

    /// `383928 tokens, $0.38`, with `at least` if prices are missing, and `so far` while the gateway is still counting.
    package static func figures(_ figures: JSONValue) -> String {
        let tokens = "\(figures["tokens"]?.int ?? 0) tokens"
        let cost = cost(figures)
        let sum = cost.isEmpty ? tokens : "\(tokens), \(cost)"
        return figures["complete"]?.bool == false ? sum + " so far (the gateway still counts)" : sum
    }

    /// Larger amounts are shown as this.
    private static let mostDollars = 1e12

    /// Empty if no price is known.
    package static func cost(_ figures: JSONValue) -> String {
        guard let cost = figures["costUsd"]?.double else { return "" }
        let cents = Int64((min(max(cost, 0), mostDollars) * 100).rounded())
        let text =
            cents == 0 && cost > 0 ? "less than $0.01" : "$\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
        return (figures["costIsLowerBound"]?.bool == true ? "at least " : "") + text
    }

    private static func word(_ value: JSONValue?) -> String { Printable.line(value?.string ?? "?") }
}
