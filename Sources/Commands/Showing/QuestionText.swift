import Basics
import JSONBytes
import ReadableText

/// A question of the agent in lines for the person who answers. The API has escaped characters that a terminal would
/// not show.
struct QuestionText {
    private let question: JSONValue
    private let style: TextStyle

    init(_ question: JSONValue, _ style: TextStyle) {
        self.question = question
        self.style = style
    }

    var lines: [String] {
        var lines: [String] = []
        for part in question["questions"].list {
            let header = text(part, "header").map { "\($0): " } ?? ""
            let id = style.dim(" (\(text(part, "id") ?? ""))")
            lines.append(header + style.bold(text(part, "question") ?? "") + id)
            for option in part["options"].list {
                let explanation = text(option, "description").map { style.dim("  " + $0) } ?? ""
                lines.append("  - \(text(option, "label") ?? "")\(explanation)")
            }
            let takes = [
                part["multiSelect"]?.bool == true ? "several" : nil,
                part["other"]?.bool == true ? "your own words" : nil, part["secret"]?.bool == true ? "a secret" : nil,
            ].compactMap(\.self)
            if !takes.isEmpty { lines.append(style.dim("  takes \(takes.joined(separator: ", "))")) }
            let answers = part["answers"].list.compactMap(\.string).map(Printable.line)
            if !answers.isEmpty { lines.append("  → \(answers.joined(separator: ", "))") }
        }
        if question["truncated"]?.bool == true {
            lines.append(style.warning("… a part of it cannot be shown, so it can only be cancelled"))
        }
        return lines
    }

    var end: String {
        let who = text(question, "endedBy").map { " by \($0)" } ?? ""
        return style.state(text(question, "state") ?? "unknown") + who
    }

    /// A short notice: the question and the command to answer it, or its outcome.
    var notice: [String] {
        guard question["state"]?.string == "pending" else { return ["the question is \(end)"] }
        let id = Printable.argument(text(question, "id") ?? "")
        return [style.warning("the agent asks:")] + lines.map { "  " + $0 }
            + [style.dim("  → ladle questions answer \(id) ANSWER")]
    }

    private func text(_ value: JSONValue, _ name: String) -> String? { value[name]?.string.map(Printable.line) }
}
