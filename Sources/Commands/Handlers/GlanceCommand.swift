import Basics
import HTTPModel
import ReadableText

extension CommandSpec {
    static let glance = client(
        "glance",
        "Show the state in one line, for a prompt or a status bar",
        run: GlanceCommand.run,
        [],
        [
            OptionSpec("--wait", "SECONDS", "Go on for so long, and print it again at each change"),
            OptionSpec("--private", nil, "Leave out titles and labels"),
        ]
    ).with { $0.examples = ["ladle glance", "ladle glance --format waybar --wait 86400"] }
}

/// `ladle glance`: one line for a prompt or a status bar, once or at each change.
enum GlanceCommand {
    /// The longest wait that the API allows for one request.
    private static let longestWait: Int64 = 300
    /// Longer than any program runs.
    private static let mostSeconds: Int64 = 3_155_760_000

    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let command = invocation.command
        let isBar = command["--format"] == "waybar"
        guard !isBar || !invocation.json else {
            throw CommandFailure(UsageError("--json and --format exclude each other", command: command.path))
        }
        let template = isBar ? nil : try invocation.template()
        var request = ClientRequest.get("/v1/glance").adding("private", command.has("--private") ? "true" : nil)
            .adding("format", isBar ? "waybar" : nil)
        if !isBar, !invocation.json, template == nil { request = request.accepting("text/plain") }
        let seconds = try invocation.number("--wait").map { min($0, mostSeconds) } ?? 0
        let end = invocation.io.nowMilliseconds + seconds * 1000
        var left = seconds
        var response = try invocation.perform(request)
        try show(response, template, invocation)
        // Each answer names its version, so changes made meanwhile come at once.
        while left > 0, let rev = Self.rev(of: response) {
            let wait = min(left, longestWait)
            let next = request.adding("rev", rev).adding("wait", "\(wait)")
                .accepting(request.accept, patience: Int(wait) * 1000 + request.patienceMilliseconds)
            guard let news = try invocation.changed(next) else {
                left -= wait
                continue
            }
            response = news
            try show(response, template, invocation)
            left = min(left, (end - invocation.io.nowMilliseconds + 999) / 1000)
        }
        return .ok
    }

    private static func rev(of response: ClientResponse) -> String? {
        guard let tag = response.head.fields.string(for: .etag), tag.utf8.count > 2, tag.hasPrefix("\""),
            tag.hasSuffix("\"")
        else { return nil }
        return String(tag.dropFirst().dropLast())
    }

    private static func show(
        _ response: ClientResponse,
        _ template: OutputTemplate?,
        _ invocation: Invocation
    ) throws(CommandFailure) {
        guard response.isJSON else {
            return invocation.print(Printable.text(String(decoding: response.body, as: UTF8.self)))
        }
        guard let template else { return invocation.io.writeLines(response.body) }
        do throws(ClientError) {
            invocation.print(template.text(of: try response.json()))
        } catch {
            throw CommandFailure(error)
        }
    }
}
