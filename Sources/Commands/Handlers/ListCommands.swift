import JSONBytes
import ReadableText

/// `ladle sessions` and `ladle agents`: where one can write to.
enum ListCommands {
    static func sessions(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let limit = try invocation.number("--limit").map(String.init)
        guard let answer = try invocation.value(.get("/v1/sessions").adding("limit", limit)) else { return .ok }
        invocation.tellAge(answer)
        var table = TextTable("SESSION", "UPDATED", "MODEL", "TITLE")
        for session in answer["sessions"].list {
            let title = session["title"]?.string ?? session["label"]?.string ?? ""
            table.add(
                session["key"]?.string ?? "",
                session["active"]?.bool == true ? "active" : invocation.time.short(session["updatedAt"]?.string),
                session["model"]?.string ?? "",
                title == session["key"]?.string ? "" : title
            )
        }
        return invocation.print(table, orElse: "There are no sessions.")
    }

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
