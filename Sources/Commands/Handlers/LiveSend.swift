import Basics
import HTTPModel
import JSONBytes
import ReadableText
import Synchronization

/// A send whose steps and text are shown during the run. Shown text cannot be taken back, so only a terminal gets it as
/// it comes; a pipe gets the whole reply at the end.
final class LiveSend {
    private let invocation: Invocation
    private var wait: ReplyWait
    private let view: LiveView
    private let questions: ApprovalQuestions
    private var entry: JSONValue?
    private var reply = ""
    /// The part of the reply that is already on the terminal.
    private var printed = ""
    private var end: RunEnd?
    private var failure: CommandFailure?
    private let sent = SentID()

    init(_ invocation: Invocation, seconds: Int64) {
        self.invocation = invocation
        wait = ReplyWait(invocation.io, seconds: seconds)
        view = LiveView(invocation.io)
        questions = ApprovalQuestions(invocation, view, on: .error)
    }

    func run(_ request: ClientRequest) throws(CommandFailure) -> ExitCode {
        defer {
            let unanswered = questions.end()
            view.end()
            // Gateways of protocol 3 end the run and let its command wait.
            for approval in unanswered {
                let id = Printable.argument(ApprovalText.id(approval))
                invocation.io.writeError("It still waits: ladle approvals allow \(id)    or: deny\n")
            }
        }
        invocation.services.noteOnInterrupt { [sent] in sent.note }
        if let other = try follow(request) { throw CommandFailure(other) }
        if let failure { throw failure }
        if isJoined {
            view.end()
            SendCommand.noteJoined(entry, invocation.io)
            return .ok
        }
        guard let end else { throw SendCommand.notYet(entry) }
        switch end.state {
        case "failed":
            throw CommandFailure(
                .unavailable,
                "RUN_FAILED",
                "the run failed",
                detail: end.errorText,
                hint: "ladle doctor"
            )
        case "aborted": throw CommandFailure(.unavailable, "RUN_ABORTED", "the run was stopped", detail: end.errorText)
        default:
            if !end.text.isEmpty { reply = end.text }
            if invocation.io.isOutputTerminal { showReply() } else { SendCommand.printReply(reply, invocation.io) }
            return .ok
        }
    }

    /// Follows the message to its end, over restarts of Ladle.
    /// - Returns: the answer if it is no stream.
    private func follow(_ request: ClientRequest) throws(CommandFailure) -> ClientResponse? {
        let client = try invocation.client()
        let request = request.accepting("text/event-stream")
        while true {
            do throws(ClientError) {
                let other = try client.lines(request, idleMilliseconds: wait.remaining) { take($0) }
                let isStarting = other?.status == 503 && entry != nil
                if isOver || (other != nil && !isStarting) { return other }
            } catch {
                // A message that was taken is on the disk, so its reply can still come.
                guard entry != nil, error.isOfRestart else { throw CommandFailure(error) }
            }
            view.wait("ladle serve is away; it has the message on its disk")
            guard wait.pauses() else { return nil }
        }
    }

    private var isOver: Bool { end != nil || failure != nil || isJoined || wait.isOver }

    /// A run at work read the message, which has none of its own.
    private var isJoined: Bool { entry?["joinedRun"] != nil }

    /// One line of the stream; false ends it.
    private func take(_ line: [UInt8]) -> Bool {
        if let event = Self.event(line) {
            wait.answered()
            handle(event.root)
        }
        return !isOver
    }

    /// The JSON of a `data:` line. Ladle writes the data of an event as one line.
    private static func event(_ line: [UInt8]) -> JSONDocument? {
        let prefix = Array("data:".utf8)
        guard line.starts(with: prefix) else { return nil }
        return try? JSONDocument(parsing: Array(line.dropFirst(prefix.count)), limits: .gateway)
    }

    private func handle(_ event: JSONValue) {
        switch event["type"]?.string {
        case "outbox":
            entry = event["entry"]
            sent.id.withLock { $0 = entry?["id"]?.string }
            handleEntry()
        case "run.step":
            guard let step = event["step"] else { return }
            view.show(step, on: .error)
            questions.fetch(for: step)
        case "approval": if let approval = event["approval"] { questions.take(approval) }
        case "question":
            guard let question = event["question"] else { return }
            for line in QuestionText(question, invocation.io.errorStyle).notice { view.line(line, on: .error) }
        case "run.delta": append(event)
        case "run.ended": if let run = event["run"] { end = RunEnd(run) }
        default: break
        }
    }

    private func handleEntry() {
        let state = entry?["state"]?.string ?? ""
        let error = entry?["error"]
        switch state {
        case "failed", "expired", "cancelled":
            failure = CommandFailure(
                .unavailable,
                error?["code"]?.string ?? "ENTRY_\(state.uppercased())",
                "the message is \(state)",
                detail: error?["detail"]?.string,
                hint: state == "cancelled" ? nil : (entry?["id"]?.string).map { "ladle outbox retry \($0)" }
            )
        case "queued", "retrying", "unconfirmed": view.wait(entry?["blockedReason"]?.string ?? state)
        default: view.goOn()
        }
    }

    private func append(_ event: JSONValue) {
        let text = event["text"]?.string ?? ""
        if event["replace"]?.bool == true || event["offset"]?.int == 0 { reply = text } else { reply += text }
        view.goOn()
        if invocation.io.isOutputTerminal { showReply() }
    }

    /// Shows the part of the reply that is not on the terminal yet. A text that was replaced is shown again.
    private func showReply() {
        if !reply.utf8.starts(with: printed.utf8) {
            view.end()
            printed = ""
        }
        let rest = String(decoding: reply.utf8.dropFirst(printed.utf8.count), as: UTF8.self)
        view.text(Printable.text(rest))
        printed = reply
    }
}

/// The id of the accepted message, for a person who leaves before the reply.
private final class SentID: Sendable {
    let id = Mutex<String?>(nil)

    var note: String {
        guard let id = id.withLock({ $0 }) else { return "\n" }
        return "\nThe message goes on without you.\n  → ladle outbox show \(id)    (to stop it: ladle abort \(id))\n"
    }
}
