import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let cluster = CommandSpec("cluster", "Which Ladle leads, and which follow it").with {
        $0.usual = "status"
        $0.subcommands = [
            client("status", "Show who leads, and how far each host is behind", run: ClusterCommand.status).with {
                $0.takesConfiguration = true
            },
            CommandSpec("key", "Make the key that all hosts on one database share").with {
                $0.arguments = [ArgumentSpec("file", "The new file", values: .files)]
                $0.options = [.json]
            },
            CommandSpec("resign", "Let another host on the same database lead").with {
                $0.run = ClusterCommand.resign
                $0.takesConfiguration = true
                $0.options = [.json]
            },
            CommandSpec("restored", "Say that the database was restored from a backup").with {
                $0.run = ClusterCommand.restored
                $0.takesConfiguration = true
                $0.options = [.json]
            },
        ]
        $0.examples = ["ladle cluster status", "ladle cluster key ~/ladle-key", "ladle cluster resign"]
    }
}

/// `ladle cluster status`: the hosts as this one sees them.
enum ClusterCommand {
    static func status(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        if let found = try invocation.services.hosts(invocation.settings().settings) {
            return show(found, invocation)
        }
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

    // MARK: Hosts on one database

    private static func show(_ found: DatabaseHosts, _ invocation: Invocation) -> ExitCode {
        let exit: ExitCode = found.leader == nil || found.isLeaderSilent ? .unavailable : .ok
        guard !invocation.json else {
            invocation.print(json(found))
            return exit
        }
        let leader = found.leader.map {
            let end = found.isLeaderSilent ? ", and is silent" : ""
            return
                "\(Printable.line($0.name)) leads since \(invocation.time.short($0.since.rfc3339)), in term \($0.term)\(end)"
        }
        invocation.print(leader ?? "Nobody leads")
        var table = TextTable("HOST", "ROLE", "LAST BEAT", "VERSION")
        for host in found.hosts {
            table.add(
                Printable.line(host.name),
                host.role,
                "\(ReadableTime.span(host.silentMs)) ago",
                Printable.line(host.version)
            )
        }
        if !table.isEmpty { _ = invocation.print(table, orElse: "") }
        invocation.io.writeError("→ \(next(found))\n")
        return exit
    }

    private static func next(_ found: DatabaseHosts) -> String {
        switch (found.leader, found.hasWaiting) {
        case (nil, true): "a host that waits takes over at once: ladle cluster status"
        case (nil, false): "start one: ladle serve --database URL"
        case (let leader?, true) where found.isLeaderSilent:
            "another host takes over after \(leader.takeoverMs / 1000) s: ladle cluster status"
        case (_?, false) where found.isLeaderSilent: "no host waits; start one: ladle serve --database URL"
        case (_?, true): "another host leads in its place after: ladle cluster resign"
        case (_?, false): "no other host waits; on another machine: ladle serve --database URL"
        }
    }

    private static func json(_ found: DatabaseHosts) -> String {
        var writer = JSONWriter()
        writer.object { object in
            if let leader = found.leader {
                object.object("leader") { member in
                    member.member("host", leader.name)
                    member.member("term", leader.term)
                    member.member("since", leader.since.rfc3339)
                    member.member("takeoverMs", leader.takeoverMs)
                }
            }
            object.array("hosts") { list in
                for host in found.hosts {
                    list.object { member in
                        member.member("host", host.name)
                        member.member("role", host.role)
                        member.member("silentMs", host.silentMs)
                        member.member("version", host.version)
                    }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// `ladle cluster restored`: hosts that saw what the backup lacks notice it by themselves; new ones cannot.
    static func restored(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let isNoted = try invocation.services.noteRestore(invocation.settings().settings) else {
            throw noDatabase("restored")
        }
        guard isNoted else {
            throw CommandFailure(
                .unavailable,
                "NO_STATE",
                "the database has no state of Ladle",
                hint: "restore it first, with pg_restore or psql"
            )
        }
        guard !invocation.json else {
            invocation.print(#"{"noted":true}"#)
            return .ok
        }
        invocation.print(
            "Noted. The host that leads starts anew, or the next one that starts: with a new event log, and each message that waits is "
                + "looked for at the gateway before it is sent."
        )
        return .ok
    }

    private static func noDatabase(_ command: String) -> CommandFailure {
        CommandFailure(
            .usage,
            "NO_DATABASE",
            "only hosts on one database take over from each other",
            hint: "name the database as ladle serve does: ladle cluster \(command) --database URL"
        )
    }

    /// `ladle cluster resign`: the leader sees the request with its next beat.
    static func resign(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let settings = invocation.settings().settings
        guard let found = try invocation.services.hosts(settings) else {
            throw noDatabase("resign")
        }
        guard let leader = found.leader, !found.isLeaderSilent else {
            let reason =
                found.leader.map { "\(Printable.line($0.name)) is silent, and would not hear it" } ?? "nobody leads"
            throw CommandFailure(.unavailable, "NO_LEADER", reason, hint: "ladle cluster status")
        }
        guard found.hasWaiting else {
            throw CommandFailure(
                .unavailable,
                "NOBODY_WAITS",
                "no other host waits, so \(Printable.line(leader.name)) still leads",
                hint: "start another one first: ladle serve --database URL"
            )
        }
        try invocation.services.askToResign(settings, leader)
        if invocation.json {
            invocation.print(json(found))
        } else {
            invocation.print("\(Printable.line(leader.name)) steps down. Then: ladle cluster status")
        }
        return .ok
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
