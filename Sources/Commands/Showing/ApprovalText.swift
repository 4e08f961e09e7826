import Basics
import JSONBytes
import ReadableText

/// An approval in lines for the person who decides. The API has escaped characters that a terminal would not show;
/// nothing is cut here, because nobody should allow something they do not see.
struct ApprovalText {
    private let approval: JSONValue
    private let time: ReadableTime
    private let style: TextStyle

    init(_ approval: JSONValue, _ time: ReadableTime, _ style: TextStyle) {
        self.approval = approval
        self.time = time
        self.style = style
    }

    static func id(_ approval: JSONValue) -> String { Printable.line(approval["id"]?.string ?? "") }
    static func title(_ approval: JSONValue) -> String { Printable.line(approval["title"]?.string ?? "") }
    /// The identity of a question, since one id can be used for one question after another.
    static func question(_ approval: JSONValue) -> String {
        "\(id(approval)) \(approval["commandSha256"]?.string ?? "")"
    }
    static func offers(_ decision: String, _ approval: JSONValue) -> Bool {
        approval["decisions"].list.contains { $0.string == decision }
    }

    /// The command or the plugin's action, its place, and the gateway's warnings.
    var question: [String] {
        let isCut = approval["truncated"]?.bool == true
        let place = [
            text("cwd").map { "in \($0)" },
            text("host").map { $0 == "node" ? "on node \(text("node") ?? "?")" : "on the \($0)" },
        ].compactMap(\.self).joined(separator: " ")
        let warnings = approval["warnings"].list.compactMap(\.string).map(Printable.line)
        let command = text("command")
        let isAction = approval["kind"]?.string != "exec"
        var lines = [style.bold(isAction ? Self.title(approval) : command ?? Self.title(approval))]
        if isAction, let tool = text("tool") { lines.append("with \(tool)") }
        if isAction, let command { lines.append(command) }
        if isCut { lines.append(style.warning("… a part of it is too long to be shown, so it can only be denied")) }
        if let description = text("description") { lines.append(description) }
        if let reach = approval["reach"]?["text"]?.string { lines.append(Printable.line(reach)) }
        if !place.isEmpty { lines.append(style.dim(place)) }
        let names = approval["env"].words
        if !names.isEmpty { lines.append(style.dim("sets \(Printable.line(names))")) }
        lines += warnings.map(style.warning)
        return lines
    }

    var since: String { "since \(moment("createdAt"))" }

    var until: String? { approval["expiresAt"] == nil ? nil : "until \(moment("expiresAt"))" }

    /// The outcome.
    var end: String {
        let who = text("decidedBy").map { " by \($0)" } ?? ""
        let always = approval["decision"]?.string == "allow-always" ? " from now on" : ""
        return style.state(text("state") ?? "unknown") + always + (approval["decision"] == nil ? "" : who)
    }

    private func text(_ name: String) -> String? { approval[name]?.string.map(Printable.line) }

    private func moment(_ name: String) -> String {
        let moment = approval[name]?.string
        return "\(time.short(moment)) (\(time.relative(moment)))"
    }
}
