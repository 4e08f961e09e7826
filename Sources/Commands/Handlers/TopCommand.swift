import Basics
import HTTPModel
import JSONBytes
import POSIX
import ReadableText

extension CommandSpec {
    static let top = client("top", "Watch everything on one screen, and decide by key", run: TopCommand.run)
        .with { $0.examples = ["ladle top", "ladle top --context home"] }
}

/// `ladle top`: one stream of events drawn on the whole terminal, and keys. Lists are read once, when the stream begins.
final class TopCommand {
    private static let types =
        "link,run.started,run.step,run.ended,run.corrected,outbox,approval,question,session,usage"
    /// Waits between attempts to reconnect; the last one repeats.
    private static let waits = [500, 1000, 2000, 5000]
    /// The server is heard every 15 seconds. A path that has gone dead is noticed by this.
    private static let silenceMilliseconds = 60_000
    private static let patienceMilliseconds = 10_000

    private let invocation: Invocation
    private let place: String?
    private var control = TopControl()
    private var isOver = false
    /// False until the first event: until then a failure is printed as by any command.
    private var hasScreen = false
    /// Keys do not act while the server is asked.
    private var isAsking = false
    private var failures = 0
    private var drawn: [String] = []

    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        try TopCommand(invocation).run()
    }

    private init(_ invocation: Invocation) throws(CommandFailure) {
        let io = invocation.io
        guard io.isOutputTerminal, io.isInputTerminal, io.environment["TERM"] != "dumb", !invocation.json,
            !invocation.command.has("--format")
        else {
            throw CommandFailure(
                .usage,
                "NO_TERMINAL",
                "ladle top draws on a terminal, and there is none",
                hint: "for a script: ladle watch --json"
            )
        }
        self.invocation = invocation
        if case .tcp(let address) = try invocation.finder.place().address {
            place = address.authority
        } else {
            place = nil
        }
    }

    private var io: any CommandIO { invocation.io }

    private func run() throws(CommandFailure) -> ExitCode {
        let client = try invocation.client()
        defer { io.takeScreen(nil) }
        let request = ClientRequest.get("/v1/events").accepting("application/x-ndjson").adding("types", Self.types)
            .adding("snapshot", "true")
        while !isOver {
            let other: ClientResponse?
            do throws(ClientError) {
                other = try client.lines(request, idleMilliseconds: Self.silenceMilliseconds) { take($0) }
            } catch {
                // Later Ladle is expected to return.
                guard hasScreen else { throw CommandFailure(error) }
                other = nil
            }
            if let other { throw CommandFailure(other) }
            guard !isOver else { break }
            control.model.disconnect()
            draw()
            io.waitForKeys(milliseconds: Self.waits[min(failures, Self.waits.count - 1)])
            failures += 1
        }
        return .ok
    }

    // MARK: The stream

    private func take(_ line: [UInt8]) -> Bool {
        guard let event = (try? JSONDocument(parsing: line, limits: .gateway))?.root else { return true }
        failures = 0
        control.model.take(event)
        if event["type"]?.string == "hello" {
            begin()
            for list in TopModel.List.allCases where !isOver { read(list) }
        }
        draw()
        return !isOver
    }

    private func begin() {
        guard !hasScreen else { return }
        hasScreen = io.takeScreen { [unowned self] in take($0) }
        isOver = !hasScreen
    }

    /// The reasons why there is no list: the newest gateways have questions, and a token need not see everything.
    private static let absences = [
        "GATEWAY_UNSUPPORTED", "GATEWAY_SCOPE_MISSING", "MISSING_SCOPE", "SESSION_NOT_ALLOWED", "PATH_NOT_ALLOWED",
    ]

    private func read(_ list: TopModel.List) {
        let request =
            switch list {
            case .approvals: ClientRequest.get("/v1/approvals").adding("limit", "200")
            case .questions: ClientRequest.get("/v1/questions")
            case .sessions: ClientRequest.get("/v1/sessions").adding("limit", "100")
            case .outbox:
                ClientRequest.get("/v1/outbox").adding("limit", "100").adding("state", TopModel.entryStates)
            case .usage: ClientRequest.get("/v1/usage")
            case .cost: ClientRequest.get("/v1/usage/cost")
            }
        do throws(CommandFailure) {
            control.model.load(list, try answer(request))
        } catch {
            if !Self.absences.contains(error.code) { control.model.fail(list) }
        }
    }

    private func answer(_ request: ClientRequest) throws(CommandFailure) -> JSONValue {
        let response = try invocation.perform(
            request.accepting("application/json", patience: Self.patienceMilliseconds)
        )
        do throws(ClientError) { return try response.json() } catch { throw CommandFailure(error) }
    }

    // MARK: The terminal

    private func take(_ event: WholeScreen.Event) -> Bool {
        if case .typed(let bytes) = event, !isAsking {
            control.time = invocation.time
            for key in TopKey.keys(bytes) {
                guard let action = control.press(key, at: io.nowMilliseconds) else { continue }
                perform(action)
            }
        }
        draw()
        return !isOver
    }

    private func perform(_ action: TopAction) {
        if case .quit = action {
            isOver = true
            return
        }
        isAsking = true
        defer { isAsking = false }
        do throws(CommandFailure) {
            switch action {
            case .quit: break
            case .decide(let decision, let approval):
                let final = try ApprovalCommands.decide(decision, approval, invocation)
                control.model.take(decided: final)
                control.tell("It is \(ApprovalText(final, invocation.time, .plain).end).")
            case .answer(let question, let part, let label):
                let path = ClientRequest.path("v1", "questions", question["id"]?.string ?? "")
                let request = ClientRequest(.post, path).json { body in
                    body.object("answers") { $0.array(part, of: [label]) }
                }
                let final = try answer(request)
                control.model.take(answered: final)
                control.tell("It is \(QuestionText(final, .plain).end).")
            case .stop(let run):
                let path = ClientRequest.path("v1", "runs", run.id, "abort")
                let final = try answer(ClientRequest(.post, path).json { _ in })
                let isStopped = final["aborted"]?.bool == true
                control.tell(isStopped ? "Stopped." : final.line("detail") ?? "Nothing was running.")
            case .read(let id):
                let run = try answer(.get(ClientRequest.path("v1", "runs", id)))
                control.show(Printable.text(run["text"]?.string ?? ""), ofRun: id)
            }
        } catch {
            control.tell(Printable.line([error.title, error.detail].compactMap(\.self).joined(separator: ": ")))
        }
    }

    /// Draws the lines that have changed.
    private func draw() {
        let state = io.showScreen()
        guard state != .hidden else { return }
        control.time = invocation.time
        control.resize(columns: io.columns, rows: io.rows)
        let lines = TopScreen(control, place: place, now: io.nowMilliseconds, style: io.style).lines
        var output = ""
        if state == .empty {
            output = "\u{1B}[2J"
            drawn = []
        }
        for (index, line) in lines.enumerated() where index >= drawn.count || drawn[index] != line {
            output += "\u{1B}[\(index + 1);1H\u{1B}[K\(line)"
        }
        drawn = lines
        if !output.isEmpty { io.write(output) }
    }
}
