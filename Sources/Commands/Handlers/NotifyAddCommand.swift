import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let notifyAdd = client(
        "add",
        "Make a sink: a place to send to",
        run: NotifyAddCommand.run,
        [
            ArgumentSpec("name", "What you call it, such as phone"),
            ArgumentSpec("kind", "ntfy, gotify or webhook", values: .words(["ntfy", "gotify", "webhook"])),
            ArgumentSpec("url", "The server of ntfy or Gotify, or the webhook"),
            ArgumentSpec("topic", "Topic of ntfy", optional: true),
        ],
        [
            OptionSpec(
                "--sink-token",
                "FILE",
                "File with the token of ntfy or Gotify; - for the input",
                values: .files
            ),
            OptionSpec(
                "--detail",
                "LEVEL",
                "How much is told: the type, also the session, also the text",
                values: .words(["private", "identified", "detailed"])
            ),
        ]
    ).with {
        $0.examples = [
            "ladle notify add phone ntfy https://ntfy.sh kitchen-x7Gh2kQp",
            "ladle notify add desk gotify https://gotify.example.org --sink-token FILE",
            "ladle notify add home webhook https://example.org/hook",
        ]
    }
}

/// `ladle notify add`: makes a sink, and says how to test it.
enum NotifyAddCommand {
    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let arguments = invocation.command.arguments
        let (name, kind, url) = (arguments[0], arguments[1], arguments[2])
        let topic = arguments.count > 3 ? arguments[3] : nil
        try check(kind, url, topic, invocation)
        let token = try token(for: kind, invocation)
        let request = ClientRequest(.post, "/v1/notifications/sinks").json { body in
            body.member("name", name)
            body.member("kind", kind)
            body.member("url", url)
            body.member("topic", topic)
            body.member("token", token)
            body.member("detail", invocation.command["--detail"])
        }
        guard let sink = try invocation.value(request) else { return .ok }
        let style = invocation.style
        let place = [sink["kind"], sink["url"], sink["topic"]].compactMap { $0?.string }.joined(separator: " ")
        let made = sink["name"]?.string ?? name
        invocation.print("\(style.good("✓")) \(Printable.line(made)): \(Printable.line(place))")
        if let secret = sink["secret"]?.string {
            invocation.print("The key of its signatures, \(style.bold("shown only now")): \(Printable.line(secret))")
        }
        let next = CommandHint.placed("ladle notify test \(Printable.argument(made))", as: invocation.command)
        invocation.print("\(style.bold("→")) \(next)")
        return .ok
    }

    /// The server checks the rest; it could not tell a line in the wrong order from a strange address.
    private static func check(
        _ kind: String,
        _ url: String,
        _ topic: String?,
        _ invocation: Invocation
    ) throws(CommandFailure) {
        let words = invocation.command.arguments.prefix(3).map(Printable.argument)
        guard ["https://", "http://"].contains(where: url.lowercased().hasPrefix) else {
            throw usage(
                "URL begins with https:// or http://, not \"\(url)\"",
                hint: "ladle notify add \(words[0]) \(kind) https://HOST\(kind == "ntfy" ? " TOPIC" : "")",
                invocation
            )
        }
        if kind == "ntfy", topic == nil {
            throw usage(
                "TOPIC is missing: ntfy tells the subscribers of a topic",
                hint: "ladle notify add \(words.joined(separator: " ")) TOPIC",
                invocation
            )
        }
        if kind != "ntfy", let topic {
            throw usage("only ntfy has topics, \(kind) has none: \"\(topic)\"", hint: nil, invocation)
        }
    }

    /// The token comes from a file, since other users can see a command line.
    private static func token(for kind: String, _ invocation: Invocation) throws(CommandFailure) -> String? {
        guard let path = invocation.command["--sink-token"] else {
            guard kind == "gotify" else { return nil }
            throw usage(
                "--sink-token is missing: Gotify takes messages with the token of an application",
                hint: "make an application in Gotify and write its token into a file, then add: --sink-token FILE",
                invocation
            )
        }
        guard kind != "webhook" else {
            throw usage("a webhook has no token: Ladle makes the key of its signatures", hint: nil, invocation)
        }
        return try invocation.finder.token(
            in: path,
            hint: "the file has the token of the \(kind) server, and nothing else"
        )
    }

    private static func usage(_ message: String, hint: String?, _ invocation: Invocation) -> CommandFailure {
        CommandFailure(UsageError(message, hint: hint, command: invocation.command.path))
    }
}
