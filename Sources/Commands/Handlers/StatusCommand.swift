import Basics
import JSONBytes
import ReadableText

extension CommandSpec {
    static let status = client(
        "status",
        "Show the state of Ladle and of its connection to the gateway",
        run: StatusCommand.run,
        [],
        [OptionSpec("--ready", nil, "Only say whether a message could be stored now; for health checks")]
    )
}

enum StatusCommand {
    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        if invocation.command.has("--ready") {
            if let answer = try invocation.value(.get("/readyz")) {
                invocation.print(Printable.line(answer["status"]?.string ?? "?"))
            }
            return .ok
        }
        guard let status = try invocation.value(.get("/v1/status")) else { return .ok }
        for line in StatusText.lines(status, invocation.style, invocation.time) { invocation.print(line) }
        return .ok
    }
}
