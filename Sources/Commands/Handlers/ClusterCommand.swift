import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let cluster = CommandSpec("cluster", "Which Ladle leads, and which follow it").with {
        $0.usual = "status"
        $0.subcommands = [
            client("status", "Show who leads, and how far each host is behind", run: ClusterCommand.status)
        ]
        $0.examples = ["ladle cluster status"]
    }
}

/// `ladle cluster status`: the hosts as this one sees them.
enum ClusterCommand {
    static func status(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let answer = try invocation.value(.get("/v1/cluster")) else { return .ok }
        if answer["role"]?.string == "follower" { return follower(answer, invocation) }
        let since = invocation.time.short(answer["startedAt"]?.string)
        invocation.print(
            "\(text(answer["host"])) leads since \(since), with ladle \(text(answer["version"])) and \(streams(answer["streams"]))"
        )
        var table = TextTable("FOLLOWER", "BEHIND", "STREAMS", "LAST BEAT", "VERSION", "ADDRESS")
        for follower in answer["followers"].list {
            table.add(
                text(follower["host"]),
                behind(follower["behind"]),
                text(follower["streams"]),
                follower["silentMs"]?.int.map { "\(ReadableTime.span($0)) ago" } ?? "",
                text(follower["version"]),
                text(follower["address"])
            )
        }
        return invocation.print(table, orElse: "Nobody has followed it within an hour.")
    }

    private static func follower(_ answer: JSONValue, _ invocation: Invocation) -> ExitCode {
        let leader = answer["leader"]
        let host = leader?["host"]?.string.map { " (\(Printable.line($0)), ladle \(text(leader?["version"])))" } ?? ""
        invocation.print("\(text(answer["host"])) follows \(text(leader?["url"]))\(host)")
        let state = answer["state"]?.string ?? ""
        let age = answer["silentMs"]?.int.map { ", heard \(ReadableTime.span($0)) ago" } ?? ""
        let distance = answer["behind"].map { ", \(behind($0)) behind" } ?? ""
        invocation.print("\(meaning[state] ?? state)\(age)\(distance), \(streams(answer["streams"]))")
        guard let problem = answer["problem"]?.string else {
            return state == "live" || state == "catching" ? .ok : .unavailable
        }
        let warning = "The leader is not followed: \(Printable.line(problem))\n"
        invocation.io.writeError(invocation.io.errorStyle.warning(warning))
        if let hint = answer["hint"]?.string { invocation.io.writeError("→ \(Printable.line(hint))\n") }
        return .unavailable
    }

    private static let meaning = [
        "starting": "not connected yet", "live": "live", "catching": "its stream is being opened again",
        "isolated": "cut off: new requests are refused until the leader is back",
    ]

    private static func text(_ value: JSONValue?) -> String {
        value?.string.map(Printable.line) ?? value?.int.map(String.init) ?? "?"
    }

    private static func behind(_ value: JSONValue?) -> String {
        guard let count = value?.int else { return "" }
        return count == 1 ? "1 event" : "\(count) events"
    }

    private static func streams(_ value: JSONValue?) -> String {
        let count = value?.int ?? 0
        return count == 1 ? "1 stream" : "\(count) streams"
    }
}
