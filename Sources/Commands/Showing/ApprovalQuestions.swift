import Basics
import JSONBytes
import ReadableText

/// Shows the agent's requests, and at a terminal asks for decisions: one question at a time, answered by one key.
/// Without a terminal for typing it only shows them.
final class ApprovalQuestions {
    /// A key typed before the question can be read does not count as an answer.
    private static let readingMilliseconds: Int64 = 400

    private let invocation: Invocation
    private let view: LiveView
    private let stream: LiveView.Stream
    /// Undecided approvals, the one being asked first.
    private var waiting: [(approval: JSONValue, prefix: String)] = []
    private var askedAt: Int64?
    private var known = RecentNames()
    /// Approvals answered here, whose ends need no further notice.
    private var answered = RecentNames()

    init(_ invocation: Invocation, _ view: LiveView, on stream: LiveView.Stream) {
        self.invocation = invocation
        self.view = view
        self.stream = stream
    }

    private var io: any CommandIO { invocation.io }
    private var style: TextStyle { stream.style(io) }
    private var canAsk: Bool { io.isInputTerminal && io.isErrorTerminal }

    /// Stops asking. Returns the approvals that nobody has answered.
    @discardableResult
    func end() -> [JSONValue] {
        if askedAt != nil { io.takeKeys(nil) }
        askedAt = nil
        defer { waiting = [] }
        // A stream that reconnects asks the pending ones again.
        known = RecentNames()
        return waiting.map(\.approval)
    }

    // MARK: - What comes

    /// Takes an approval in its current state.
    func take(_ approval: JSONValue, prefix: String = "") {
        let id = ApprovalText.id(approval)
        guard approval["state"]?.string == "pending" else { return close(approval, id, prefix) }
        guard known.insert(ApprovalText.question(approval)) else { return }
        waiting.append((approval, prefix))
        if waiting.count == 1 { ask() }
    }

    private func close(_ approval: JSONValue, _ id: String, _ prefix: String) {
        let isAsked = waiting.first.map { ApprovalText.id($0.approval) == id } ?? false
        waiting.removeAll { ApprovalText.id($0.approval) == id }
        if isAsked { withdraw() }
        if answered.insert(ApprovalText.question(approval)) {
            let text = ApprovalText(approval, invocation.time, style)
            view.line("\(prefix)\(text.end): \(ApprovalText.title(approval))", on: stream)
        }
        if isAsked { ask() }
    }

    /// Shows approvals that were pending before the first event. Without an answer there is nothing to ask.
    func fetch(session: String?, prefix: (JSONValue) -> String) {
        guard canAsk, let list = fetch(.get("/v1/approvals").adding("session", session)) else { return }
        for approval in list["approvals"].list.reversed() { take(approval, prefix: prefix(approval)) }
    }

    /// The approval that a step waits for.
    func fetch(for step: JSONValue) {
        guard step["state"]?.string == "waiting", let id = step["approvalId"]?.string else { return }
        if let approval = fetch(.get(ClientRequest.path("v1", "approvals", id))) { take(approval) }
    }

    private func fetch(_ request: ClientRequest) -> JSONValue? {
        guard let response = try? invocation.perform(request) else { return nil }
        return try? response.json()
    }

    // MARK: - Asking

    private func ask() {
        guard let (approval, prefix) = waiting.first else { return }
        let text = ApprovalText(approval, invocation.time, style)
        let until = text.until.map { ", \($0)" } ?? ""
        let lines = ["the agent wants to execute\(until):"] + text.question
        view.line(prefix + style.warning(lines[0]), on: stream)
        for line in lines.dropFirst() { view.line("  " + line, on: stream) }
        guard canAsk, io.takeKeys({ [unowned self] in press($0) }) else {
            let id = Printable.argument(ApprovalText.id(approval))
            view.line(style.dim("  → ladle approvals allow \(id)    or: deny"), on: stream)
            waiting.removeFirst()
            return ask()
        }
        askedAt = io.nowMilliseconds
        let mayAllow = ApprovalText.offers("allow-once", approval)
        view.ask(mayAllow ? "? a allows it once, d denies it" : "? d denies it")
    }

    private func withdraw() {
        guard askedAt != nil else { return }
        askedAt = nil
        io.takeKeys(nil)
        view.ask("")
    }

    private func press(_ key: UInt8) {
        guard let askedAt, io.nowMilliseconds - askedAt >= Self.readingMilliseconds, let asked = waiting.first else {
            return
        }
        switch key {
        // Upper-case letters end the codes of the arrow keys, so only lower-case ones count.
        case UInt8(ascii: "a"):
            if ApprovalText.offers("allow-once", asked.approval) { decide("allow-once", asked.approval) }
        case UInt8(ascii: "d"): decide("deny", asked.approval)
        default: break
        }
    }

    private func decide(_ decision: String, _ approval: JSONValue) {
        withdraw()
        waiting.removeFirst()
        do throws(CommandFailure) {
            let final = try ApprovalCommands.decide(decision, approval, invocation)
            _ = answered.insert(ApprovalText.question(approval))
            view.line("  " + ApprovalText(final, invocation.time, style).end, on: stream)
        } catch {
            let detail = error.detail.map { ": " + Printable.line($0) } ?? ""
            view.line("  " + style.bad("✗ \(Printable.line(error.title))\(detail)"), on: stream)
        }
        ask()
    }
}
