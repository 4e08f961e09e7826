import Basics
import JSONBytes
import ReadableText

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
