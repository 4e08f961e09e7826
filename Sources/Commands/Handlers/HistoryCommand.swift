import Basics
import JSONBytes
import ReadableText

extension CommandSpec {
    static let history = client(
        "history",
        "Show the messages of a session",
        run: HistoryCommand.run,
        [],
        [
            .session,
            OptionSpec("--limit", "N", "How many; 20 by default"),
            OptionSpec("--before", "CURSOR", "Older than this"),
            OptionSpec("--after", "CURSOR", "Newer than this"),
        ]
    )
}

enum HistoryCommand {
    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let command = invocation.command
        let request = ClientRequest.get("/v1/messages").adding("session", command["--session"])
            .adding("limit", String(try invocation.number("--limit") ?? 20))
            .adding("before", command["--before"]).adding("after", command["--after"])
        guard let answer = try invocation.value(request) else { return .ok }
        let io = invocation.io
        let time = invocation.time
        invocation.tellAge(answer)
        guard let messages = answer["messages"], messages.count > 0 else {
            invocation.print("No messages.")
            return .ok
        }
        for message in messages.elements {
            for line in MessageText.lines(message, at: time.short(message["at"]?.string), invocation.style) {
                invocation.print(line)
            }
        }
        if let before = answer["before"]?.string {
            let session = invocation.command["--session"].map { " --session \(Printable.argument($0))" } ?? ""
            io.writeError(io.errorStyle.dim("Older ones: ladle history\(session) --before \(Printable.line(before))\n"))
        }
        return .ok
    }
}
