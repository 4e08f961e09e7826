import Basics
import JSONBytes

enum HistoryCommand {
    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let command = invocation.command
        let request = ClientRequest.get("/v1/messages").adding("session", command["--session"])
            .adding("limit", String(try invocation.number("--limit") ?? 20))
            .adding("before", command["--before"]).adding("after", command["--after"])
        guard let answer = try invocation.value(request) else { return .ok }
        let io = invocation.io
        let style = invocation.style
        let time = LocalTime(io)
        if answer["live"]?.bool == false {
            io.writeError(
                io.errorStyle.warning("From the cache of \(time.short(answer["asOf"]?.string)): the gateway is away.\n")
            )
        }
        guard let messages = answer["messages"], messages.count > 0 else {
            invocation.print("No messages.")
            return .ok
        }
        for message in messages.elements {
            let role = message["role"]?.string ?? "?"
            let name = style.bold(role == "user" ? "you" : Printable.line(role))
            let state = message["state"]?.string.flatMap { $0 == "sent" ? nil : " (\(Printable.line($0)))" } ?? ""
            let steps = message["steps"]?.count ?? 0
            let note = state + (steps > 0 ? style.dim(steps == 1 ? " 1 step" : " \(steps) steps") : "")
            invocation.print("\(style.dim(time.short(message["at"]?.string))) \(name)\(note)")
            let text = message["text"]?.string ?? ""
            for line in (io.isOutputTerminal ? Printable.text(text) : text).split(
                separator: "\n",
                omittingEmptySubsequences: false
            ) {
                invocation.print("  " + line)
            }
            for attachment in message["attachments"].list {
                invocation.print(style.dim("  [\(Printable.line(attachment["name"]?.string ?? "attachment"))]"))
            }
            if let error = message["error"] {
                let detail = error.string ?? error["detail"]?.string ?? error["code"]?.string ?? "failed"
                invocation.print(style.bad("  " + Printable.line(detail)))
            }
        }
        if let before = answer["before"]?.string {
            let session = invocation.command["--session"].map { " --session \(Printable.argument($0))" } ?? ""
            io.writeError(io.errorStyle.dim("Older ones: ladle history\(session) --before \(Printable.line(before))\n"))
        }
        return .ok
    }
}
