import JSONBytes
import ReadableText

extension CommandSpec {
    static let agents = client("agents", "List the agents of the gateway", run: ListCommands.agents)
}

/// `ladle sessions` and `ladle agents`: the targets for messages.
enum ListCommands {
    static func agents(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let answer = try invocation.value(.get("/v1/agents")) else { return .ok }
        invocation.tellAge(answer)
        var table = TextTable("AGENT", "NAME", "SESSION", "")
        for agent in answer["agents"].list {
            let name = [agent["name"]?.string, agent["emoji"]?.string].compactMap(\.self).joined(separator: " ")
            table.add(
                agent["id"]?.string ?? "",
                name,
                agent["session"]?.string ?? "",
                agent["default"]?.bool == true ? "default" : ""
            )
        }
        return invocation.print(table, orElse: "There are no agents.")
    }
}
