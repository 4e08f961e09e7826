import Basics
import JSONBytes
import ReadableText

/// The events of `ladle watch` for a person: messages, steps as they change, each reply once, and trouble. The verbose
/// form has a line for every other event too.
final class WatchView {
    private let invocation: Invocation
    private let view: LiveView
    private let isVerbose: Bool
    private let questions: ApprovalQuestions
    private var told = RecentNames()

    init(_ invocation: Invocation) {
        self.invocation = invocation
        view = LiveView(invocation.io)
        questions = ApprovalQuestions(invocation, view, on: .output)
        // A person who names types wants to see all of them.
        isVerbose = invocation.command.has("--verbose") || invocation.command.has("--types")
    }

    func end() {
        questions.end()
        view.end()
    }

    func show(_ event: JSONValue) {
        let type = event["type"]?.string ?? ""
        if type == "run.step", let step = event["step"] {
            return view.show(step, prefix: prefix(event), on: .output)
        }
        if type == "approval", let approval = event["approval"] {
            return questions.take(approval, prefix: prefix(event))
        }
        if type == "question", let question = event["question"] {
            var start = prefix(event)
            for line in QuestionText(question, invocation.style).notice {
                view.line(start + line, on: .output)
                start = ""
            }
            return
        }
        // Approvals that are already pending are asked too.
        if type == "hello" {
            questions.fetch(session: invocation.command["--session"]) { [self] in prefix($0) }
            showWaiting()
        }
        if isVerbose { return showLine(event, type) }
        switch type {
        case "message": showMessage(event["message"], event)
        case "run.ended": showEnd(event)
        case "run.corrected", "reset": print(event)
        case "pairing" where event["state"]?.string == "waiting": print(event)
        case "link" where event["link"]?["state"]?.string != "connecting": print(event)
        case "outbox": if let entry = event["entry"] { showTrouble(entry, event) }
        default: break
        }
    }

    /// Shows a message that does not get on.
    private func showTrouble(_ entry: JSONValue, _ event: JSONValue) {
        guard let state = entry["state"]?.string else { return }
        let id = entry["id"]?.string ?? ""
        let hasTrouble = ["failed", "expired", "unconfirmed"].contains(state)
        let waits = entry["blockedReason"]?.string
        guard hasTrouble || waits != nil, told.insert("\(id) \(state) \(waits ?? "")") else { return }
        view.line(prefix(event) + EventText.outbox(entry, invocation.style), on: .output)
    }

    /// Shows messages that waited before the first event.
    private func showWaiting() {
        guard invocation.io.isOutputTerminal else { return }
        let request = ClientRequest.get("/v1/outbox").adding("state", "queued,retrying,unconfirmed").adding(
            "limit",
            "20"
        )
        .adding("session", invocation.command["--session"])
        guard let response = try? invocation.perform(request), let list = try? response.json() else { return }
        for entry in list["entries"].list.reversed() { showTrouble(entry, entry) }
    }

    /// A message on its way is shown when it has arrived; until then its outbox entry is shown.
    private func showLine(_ event: JSONValue, _ type: String) {
        switch type {
        case "hello", "heartbeat", "run.delta": break
        case "message" where event["message"]?["state"]?.string == "sending": break
        default: print(event)
        }
    }

    /// The agent's message in a run is part of the run's end, which brings the whole reply.
    private func showMessage(_ message: JSONValue?, _ event: JSONValue) {
        guard let message, let id = message["id"]?.string else { return }
        switch message["role"]?.string {
        case "user": if told.insert(id) { say("you", message["text"]?.string ?? "", event) }
        case "assistant" where message["runId"] == nil:
            if told.insert(id) { say("agent", message["text"]?.string ?? "", event) }
        default: break
        }
    }

    private func showEnd(_ event: JSONValue) {
        let end = RunEnd(event["run"] ?? event)
        if !end.text.isEmpty { say("agent", end.text, event) }
        guard end.state != "completed" else { return }
        let reason = end.errorText.map { ": " + Printable.line($0) } ?? ""
        view.line(prefix(event) + "the run " + invocation.style.state(Printable.line(end.state)) + reason, on: .output)
    }

    private func say(_ name: String, _ text: String, _ event: JSONValue) {
        let lines = Printable.text(text).split(separator: "\n", omittingEmptySubsequences: false)
        view.line(
            prefix(event) + invocation.style.bold(name + ":") + " " + lines.joined(separator: "\n  "),
            on: .output
        )
    }

    private func print(_ event: JSONValue) {
        view.line(EventText.line(event, at: time(event), invocation.style), on: .output)
    }

    /// An entry has the time at which it was accepted.
    private func time(_ event: JSONValue) -> String {
        invocation.time.short((event["at"] ?? event["createdAt"])?.string, seconds: true)
    }

    /// The time, and the session unless there is only one.
    private func prefix(_ event: JSONValue) -> String {
        let session = invocation.command.has("--session") ? nil : event["session"]?.string
        let words = [time(event), session.map(Printable.line)].compactMap(\.self)
        return invocation.style.dim(words.joined(separator: " ")) + " "
    }
}
