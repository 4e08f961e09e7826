import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let watch = client(
        "watch",
        "Show live activity as it happens",
        run: WatchCommand.run,
        [],
        [
            OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
            OptionSpec("--run", "ID", "Only this run", values: .listed(.runs)),
            OptionSpec("--types", "LIST", "Only these event types, such as run.*,outbox"),
            OptionSpec("--since", "CURSOR", "Continue after this event"),
            OptionSpec("--limit", "N", "Stop after so many events"),
            OptionSpec("--timeout", "SECONDS", "Stop after this time"),
            OptionSpec("--verbose", nil, "Show every event, not only messages, steps, replies and trouble"),
        ]
    ).with { $0.examples = ["ladle watch", "ladle watch --json --types run.ended | jq .run.text"] }
}

/// `ladle watch`: the event stream, continued after the last event whenever the connection breaks.
final class WatchCommand {
    /// Waits between attempts to reconnect; the last one repeats.
    private static let waits = [500, 1000, 2000, 5000]

    private let invocation: Invocation
    private let view: WatchView
    private let template: OutputTemplate?
    private let deadline: Int64?
    private let limit: Int64?
    private let runID: String?
    private var cursor: String?
    private var count: Int64 = 0
    private var hasConnected = false
    private var failures = 0
    private var askedWait: Int?

    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        try WatchCommand(invocation).run()
    }

    private init(_ invocation: Invocation) throws(CommandFailure) {
        self.invocation = invocation
        view = WatchView(invocation)
        template = try invocation.template()
        limit = try invocation.number("--limit")
        deadline = try invocation.number("--timeout").map { invocation.io.nowMilliseconds + min($0, 1 << 40) * 1000 }
        cursor = invocation.command["--since"]
        if let part = invocation.command["--run"] {
            runID = try ListedNames.runs.completed(part, invocation)
        } else {
            runID = nil
        }
    }

    private func run() throws(CommandFailure) -> ExitCode {
        defer { view.end() }
        let client = try invocation.client()
        if invocation.io.isErrorTerminal, !invocation.json {
            invocation.io.writeError(invocation.io.errorStyle.dim("Watching; Ctrl-C ends it.\n"))
        }
        while !isOver {
            askedWait = nil
            let other: ClientResponse?
            do throws(ClientError) {
                other = try client.lines(request, idleMilliseconds: remaining) { take($0) }
            } catch {
                // Before the first event there is nothing to continue; later Ladle is expected to return.
                guard hasConnected else { throw CommandFailure(error) }
                other = nil
            }
            if let other { throw CommandFailure(other) }
            if isOver { break }
            comeBack()
        }
        return .ok
    }

    private var isOver: Bool {
        if let limit, count >= limit { return true }
        if let deadline, invocation.io.nowMilliseconds >= deadline { return true }
        return false
    }

    private var remaining: Int? {
        deadline.map { Int(clamping: max(1, $0 - invocation.io.nowMilliseconds)) }
    }

    private var request: ClientRequest {
        let command = invocation.command
        return ClientRequest.get("/v1/events").accepting("application/x-ndjson")
            .adding("types", command["--types"]).adding("session", command["--session"]).adding("run", runID)
            .adding("snapshot", invocation.json || template != nil || cursor != nil ? nil : "true").adding(
                "since",
                cursor
            )
    }

    private func take(_ line: [UInt8]) -> Bool {
        guard let document = try? JSONDocument(parsing: line, limits: .gateway) else { return true }
        let event = document.root
        let type = event["type"]?.string ?? ""
        hasConnected = true
        failures = 0
        if let id = event["id"]?.string { cursor = id }
        if type == "shutdown" { askedWait = event["retry"]?.int.map { Int(clamping: $0) } }
        let isControl = ["hello", "heartbeat", "shutdown", "reset", "summary"].contains(type)
        if invocation.json {
            invocation.io.write(line + [0x0A])
        } else if let template {
            if !isControl { invocation.print(template.text(of: event)) }
        } else {
            view.show(event)
        }
        if !isControl { count += 1 }
        return !isOver
    }

    private func comeBack() {
        let io = invocation.io
        view.end()
        if failures == 0, io.isErrorTerminal { io.writeError(io.errorStyle.dim("The stream broke; coming back.\n")) }
        let wait = min(askedWait ?? Self.waits[min(failures, Self.waits.count - 1)], 60_000)
        failures += 1
        io.sleep(milliseconds: min(wait, remaining ?? .max))
    }
}
