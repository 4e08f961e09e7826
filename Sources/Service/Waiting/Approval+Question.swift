package import Runs

extension Approval {
    /// The whole question in lines: everything that a person should know before allowing it. Each part stands on one
    /// line, so that no command can pretend to be another part.
    package var question: String {
        var lines = [kind == .exec ? command ?? title : title]
        if let tool { lines.append("with \(tool)") }
        if kind == .plugin, let command { lines.append(command) }
        if let explanation { lines.append(explanation) }
        if let cwd { lines.append("in \(cwd)") }
        if let host { lines.append("on the \(host)") }
        if let node { lines.append("on node \(node)") }
        if let agent { lines.append("for agent \(agent)") }
        if !variables.isEmpty { lines.append("sets \(variables.joined(separator: ", "))") }
        if isTruncated { lines.append("… a part of it is too long to be shown, so it can only be denied") }
        return (lines + warnings.map { "! \($0)" }).joined(separator: "\n")
    }
}
