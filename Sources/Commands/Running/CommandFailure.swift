import Basics
import JSONBytes
import ReadableText

/// The failure of a command: what happened, why, and a hint.
package struct CommandFailure: Error, Sendable {
    package let exit: ExitCode
    package let code: String
    package let title: String
    package let detail: String?
    package let hint: String?
    /// The daemon's own problem document, shown as it is by `--json`.
    let document: [UInt8]?

    package init(
        _ exit: ExitCode,
        _ code: String,
        _ title: String,
        detail: String? = nil,
        hint: String? = nil,
        document: [UInt8]? = nil
    ) {
        self.exit = exit
        self.code = code
        self.title = title
        self.detail = detail
        self.hint = hint
        self.document = document
    }

    init(_ error: ClientError) {
        self.init(error.exit, error.code, error.message, hint: error.hint)
    }

    package init(_ error: UsageError) {
        let help = (["ladle"] + error.command + ["--help"]).joined(separator: " ")
        self.init(.usage, "USAGE", error.message, hint: error.hint ?? "see: \(help)")
    }

    init(_ fault: FileFault) {
        self.init(.usage, "FILE", fault.message, hint: fault.hint)
    }

    /// The failure reported by an answer.
    init(_ response: ClientResponse) {
        guard response.isJSON, let problem = try? response.json() else {
            self.init(
                Self.exit(response.status, nil, nil),
                "HTTP_\(response.status)",
                "the server answered HTTP \(response.status), and not as Ladle does",
                hint: "check its address: ladle context list"
            )
            return
        }
        let code = problem["code"]?.string ?? "HTTP_\(response.status)"
        var hint = Self.hints[code] ?? problem["hint"]?.string.map(CommandHint.translated)
        if hint == nil, let scopes = problem["requiredScopes"] {
            hint = "needed: " + scopes.elements.compactMap(\.string).joined(separator: ", ")
        }
        if hint == nil, let wait = problem["retryAfterMs"]?.int {
            hint = "try again in \((max(0, wait) + 999) / 1000) s"
        }
        self.init(
            Self.exit(response.status, code, problem["retryable"]?.bool),
            code,
            problem["title"]?.string ?? "the server answered HTTP \(response.status)",
            detail: problem["detail"]?.string,
            hint: hint,
            document: response.body
        )
    }

    /// The failure with a hint that can be typed as it is printed, after this command line.
    package func placed(as command: ParsedCommand) -> CommandFailure {
        let hint = hint.map { CommandHint.placed($0, as: command) }
        return CommandFailure(exit, code, title, detail: detail, hint: hint, document: document)
    }

    /// Hints for problems where the command line has better advice than the API.
    private static let hints = [
        "NOT_PAIRED":
            "name a token with --token-file FILE    (made on that host: ladle token create --name NAME --scopes read,send)"
    ]

    /// The exit code for an HTTP status. The answer's own `retryable` comes first.
    static func exit(_ status: Int, _ code: String?, _ retryable: Bool?) -> ExitCode {
        switch status {
        case 401, 403: return .noPermission
        case 429: return .temporary
        case 400, 404, 405, 406, 413, 414, 415, 422, 428, 431: return retryable == true ? .temporary : .usage
        case 412: return .temporary
        case 500: return .internal
        case 503, 507: return retryable == false ? .unavailable : .temporary
        default: return retryable == true ? .temporary : .unavailable
        }
    }

    func write(to io: any CommandIO, json: Bool) {
        if json {
            io.writeLines(document ?? written())
            return
        }
        let style = io.errorStyle
        var text = "\(style.bad("ladle:")) \(Printable.line(title))\n"
        if let detail, detail != title {
            text += Printable.text(detail).split(separator: "\n").map { "  \($0)\n" }.joined()
        }
        if let hint { text += "  \(style.bold("→")) \(Printable.line(hint))\n" }
        io.writeError(text)
    }

    private func written() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("code", code)
            object.member("title", title)
            object.member("detail", detail)
            object.member("hint", hint)
            object.member("exit", exit.rawValue)
        }
        return writer.bytes
    }
}
