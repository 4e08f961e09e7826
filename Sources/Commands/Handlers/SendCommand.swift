import Basics
import Configuration
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let send = client(
        "send",
        "Send a message",
        run: SendCommand.run,
        [
            ArgumentSpec(
                "text",
                "The message; without it standard input is read",
                optional: true,
                repeats: true
            )
        ],
        [
            .session,
            OptionSpec(
                "--wait",
                "SECONDS",
                "Wait for the reply and print it; 600 s by default",
                optionalValue: true
            ),
            OptionSpec(
                "--thinking",
                "LEVEL",
                "How much the model may think",
                values: .words(["off", "minimal", "low", "medium", "high"])
            ),
            OptionSpec("--now", nil, "Say it to the run at work, instead of after it"),
            OptionSpec("--attach", "FILE", "Attach a file", repeats: true, values: .files),
            OptionSpec("--ttl", "DURATION", "Give up after this time, such as 10m"),
            OptionSpec("--not-before", "TIME", "Do not send before this time, such as 2030-01-31T08:00:00Z"),
            OptionSpec("--idempotency-key", "KEY", "A repeat with the same key is not sent again"),
            OptionSpec("--force", nil, "Send it even if it is a word that stops the agent"),
        ]
    ).with {
        $0.examples = [
            "ladle send hello", "ladle send --wait 'what is the weather?'", "date | ladle send --session work",
        ]
    }
}

/// `ladle send`: prints the entry, which is on disk by then, or with `--wait` the reply.
enum SendCommand {
    private static let longestText = 4 << 20
    private static let largestFile = 20 << 20
    private static let longestWait: Int64 = 600

    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let key = try key(invocation)
        let request = try request(invocation).field("Idempotency-Key", "\"\(key)\"")
        do throws(CommandFailure) {
            return try send(request, invocation)
        } catch {
            guard ClientError.unansweredCodes.contains(error.code) else { throw error }
            throw CommandFailure(
                error.exit,
                error.code,
                error.title,
                detail: "Whether the message was taken is not known.",
                hint: "the same line with --idempotency-key \(key) does not send it twice"
            )
        }
    }

    private static func send(_ request: ClientRequest, _ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let wait = try wait(invocation) else {
            guard let entry = try invocation.value(request) else { return .ok }
            let state = Printable.line(entry["state"]?.string ?? "queued")
            // A key may be written in other ways than the server's, such as in capitals.
            let session = invocation.command["--session"] == nil ? nil : entry["session"]?.string
            let place = session.map { " for \(Printable.line($0))" } ?? ""
            invocation.print(
                "\(invocation.style.good("✓")) \(state) \(Printable.line(entry["id"]?.string ?? ""))\(place)"
            )
            if let reason = entry["blockedReason"]?.string { invocation.print("  waits: \(Printable.line(reason))") }
            return .ok
        }
        let isForPeople = !invocation.json && !invocation.command.has("--format")
        if invocation.io.isErrorTerminal || invocation.io.isOutputTerminal, isForPeople {
            return try LiveSend(invocation, seconds: wait).run(request)
        }
        let response = try reply(to: request, seconds: wait, invocation)
        if invocation.json {
            invocation.print(String(decoding: response.body, as: UTF8.self))
            return response.status == 200 ? .ok : .temporary
        }
        let answer: JSONValue
        do throws(ClientError) {
            answer = try response.json()
        } catch {
            throw CommandFailure(error)
        }
        guard response.status == 200 else { throw notYet(answer) }
        if let template = try invocation.template() {
            invocation.print(template.text(of: answer))
            return .ok
        }
        noteJoined(answer["entry"], invocation.io)
        printReply(answer["reply"]?.string ?? "", invocation.io)
        return .ok
    }

    /// Asks again where Ladle was restarted: 202 before the time is over says so, and so does a connection that broke.
    private static func reply(
        to request: ClientRequest,
        seconds: Int64,
        _ invocation: Invocation
    ) throws(CommandFailure) -> ClientResponse {
        let client = try invocation.client()
        var wait = ReplyWait(invocation.io, seconds: seconds)
        var taken: ClientResponse?
        var mayBeTaken = false
        while true {
            let left = max(1, wait.remaining / 1000)
            let asking = request.field("Prefer", "wait=\(left)")
            let failure: CommandFailure
            let patience = left * 1000 + 15_000
            switch Result(catching: { () throws(ClientError) in
                try client.perform(asking.accepting("application/json", patience: patience))
            }) {
            case .success(let response) where response.status == 202:
                (taken, mayBeTaken) = (response, true)
                failure = CommandFailure(response)
                wait.answered()
            case .success(let response):
                failure = CommandFailure(response)
                if response.head.status.isSuccess { return response }
                guard mayBeTaken, response.status == 503 else { throw failure }
            case .failure(let error):
                mayBeTaken = mayBeTaken || error == .closed
                failure = CommandFailure(error)
                guard mayBeTaken, error.isOfRestart else { throw failure }
            }
            if !wait.pauses() {
                if let taken { return taken }
                throw failure
            }
        }
    }

    /// A message that a run at work read has no reply of its own.
    static func noteJoined(_ entry: JSONValue?, _ io: any CommandIO) {
        guard let run = entry?["joinedRun"]?.string else { return }
        io.writeError(
            "The run at work read it; there is no reply to it alone.\n  → ladle runs show \(Printable.argument(run))\n"
        )
    }

    static func notYet(_ entry: JSONValue?) -> CommandFailure {
        let id = entry?["id"]?.string ?? ""
        let reason = entry?["blockedReason"]?.string
        return CommandFailure(
            .temporary,
            "NO_REPLY_YET",
            "the reply did not come in time",
            detail: "The message is \(entry?["state"]?.string ?? "on its way")\(reason.map { ": \($0)" } ?? ".")",
            hint: id.isEmpty ? "ladle watch" : "ladle outbox show \(id)"
        )
    }

    /// A terminal gets text without control characters, a pipe gets it unchanged.
    static func printReply(_ reply: String, _ io: any CommandIO) {
        guard !reply.isEmpty else { return }
        let text = io.isOutputTerminal ? Printable.text(reply) : reply
        io.write(text.hasSuffix("\n") ? text : text + "\n")
    }

    private static func wait(_ invocation: Invocation) throws(CommandFailure) -> Int64? {
        guard invocation.command.has("--wait") else { return nil }
        let seconds = try invocation.number("--wait") ?? longestWait
        guard (1...longestWait).contains(seconds) else {
            throw CommandFailure(UsageError("--wait takes 1 to \(longestWait) seconds", command: ["send"]))
        }
        return seconds
    }

    // MARK: The request

    private static func request(_ invocation: Invocation) throws(CommandFailure) -> ClientRequest {
        let command = invocation.command
        let text = try text(invocation)
        let ttl = try invocation.milliseconds("--ttl")
        if let ttl, ttl < 1000 { throw CommandFailure(UsageError("--ttl must be at least 1s", command: ["send"])) }
        if let time = command["--not-before"], Timestamp(rfc3339: time) == nil {
            throw CommandFailure(
                UsageError(
                    "--not-before is no time: \"\(time)\"",
                    hint: "write it like 2030-01-31T08:00:00Z",
                    command: ["send"]
                )
            )
        }
        let files = try attachments(invocation)
        let request = ClientRequest(.post, "/v1/messages").json { body in
            body.member("text", text)
            body.member("session", command["--session"])
            body.member("thinking", command["--thinking"])
            body.member("mode", command.has("--now") ? "say-now" : nil)
            body.member("ttlSeconds", ttl.map { $0 / 1000 })
            body.member("notBefore", command["--not-before"])
            if !files.isEmpty { body.array("attachments", of: files) }
        }
        return request.adding("force", command.has("--force") ? "true" : nil)
    }

    /// Each message has a key, so that it can be repeated safely if no answer comes.
    private static func key(_ invocation: Invocation) throws(CommandFailure) -> String {
        guard let key = invocation.command["--idempotency-key"] else {
            return "cli-" + Hex.encode((0..<8).map { _ in UInt8.random(in: 0 ... .max) })
        }
        guard !key.isEmpty, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) else {
            throw CommandFailure(UsageError("--idempotency-key takes visible ASCII without quotes", command: ["send"]))
        }
        return key
    }

    private static func text(_ invocation: Invocation) throws(CommandFailure) -> String {
        let words = invocation.command.arguments
        var text = words.joined(separator: " ")
        if words.isEmpty || words == ["-"] {
            if invocation.io.isInputTerminal {
                invocation.io.writeError("Type the message; Ctrl-D ends it.\n")
            }
            guard let input = invocation.io.readInput(limit: longestText) else {
                throw CommandFailure(
                    UsageError(
                        "the message is longer than \(ConfigurationUnits.size(Int64(longestText)))",
                        command: ["send"]
                    )
                )
            }
            guard let decoded = String(validating: input, as: UTF8.self) else {
                throw CommandFailure(
                    UsageError("the message is not UTF-8", hint: "attach it with --attach FILE", command: ["send"])
                )
            }
            text = decoded
            while text.last?.isNewline == true { text.removeLast() }
        }
        let isBlank = text.allSatisfy(\.isWhitespace)
        if isBlank, invocation.command.all("--attach").isEmpty {
            throw CommandFailure(UsageError("there is no message", hint: "ladle send 'hello'", command: ["send"]))
        }
        return text
    }

    private static func attachments(_ invocation: Invocation) throws(CommandFailure) -> [Attachment] {
        var files: [Attachment] = []
        for path in invocation.command.all("--attach") {
            do throws(FileFault) {
                let bytes = try invocation.io.readFile(path, limit: largestFile)
                files.append(Attachment(name: String(path.split(separator: "/").last ?? "file"), bytes: bytes))
            } catch {
                throw CommandFailure(error)
            }
        }
        return files
    }
}

private struct Attachment: JSONWritable {
    let name: String
    let bytes: [UInt8]

    private static let types = [
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
        "pdf": "application/pdf", "txt": "text/plain", "md": "text/markdown", "json": "application/json",
        "csv": "text/csv",
        "mp3": "audio/mpeg", "wav": "audio/wav", "m4a": "audio/mp4", "ogg": "audio/ogg",
    ]

    private var mimeType: String {
        let parts = name.split(separator: ".")
        let known = parts.count > 1 ? parts.last.flatMap { Self.types[$0.lowercased()] } : nil
        return known ?? "application/octet-stream"
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("name", name)
            object.member("mimeType", mimeType)
            object.member("data", Base64.encode(bytes))
        }
    }
}
