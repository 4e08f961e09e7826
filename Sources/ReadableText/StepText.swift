import Basics
package import JSONBytes

/// One step of a run as a line.
package enum StepText {
    /// - Parameters:
    ///   - width: the most columns of the line; nil for no limit.
    ///   - advice: the instruction for the reader, if the step needs one.
    package static func line(
        _ step: JSONValue,
        _ style: TextStyle,
        width: Int? = nil,
        advice: (String) -> String = { $0 }
    ) -> String {
        var label = Printable.line(step["label"]?.string ?? step["kind"]?.string ?? "")
        if let width { label = DisplayWidth.fitted(label, max(10, width - 3)) }
        let detail = step["detail"]?.string.map { style.dim("  " + Printable.line(advice($0))) } ?? ""
        switch step["state"]?.string {
        case "done": return style.good("✓ ") + label
        case "failed":
            let error = step["error"]?.string ?? step["error"]?["detail"]?.string
            return style.bad("✗ ") + label + (error.map { style.bad("  " + Printable.line($0)) } ?? "")
        case "cancelled": return style.dim("– " + label)
        case "waiting": return style.warning("? ") + label + detail
        default: return style.warning("• ") + label
        }
    }
}

/// The end of a run: its state, its text or its error.
package struct RunEnd {
    package let state: String
    package let text: String
    package let errorText: String?

    package init(_ run: JSONValue) {
        state = run["state"]?.string ?? ""
        text = run["text"]?.string ?? ""
        let error = run["error"]
        errorText = error?.string ?? error?["detail"]?.string ?? error?["message"]?.string ?? error?["code"]?.string
    }
}
