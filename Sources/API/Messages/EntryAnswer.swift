import Basics
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service

/// The answers to a message, once its outcome is known or the time is up.
enum EntryAnswer {
    typealias Fields = [(name: FieldName, value: String)]

    static func accepted(_ entry: OutboxEntry, _ call: Call, _ api: HTTPAPI, _ fields: Fields) -> Response {
        let reason = api.outbox.blockedReason(session: entry.session)
        guard !call.wantsText else {
            let why = entry.state.isWaiting ? reason.map { ": " + Printable.line($0) } ?? "" : ""
            return .text(.accepted, "\(entry.state.rawValue) \(entry.id)\(why)\n").adding(fields)
        }
        return Response.json(.accepted) { entry.write(to: &$0, blockedReason: reason) }.adding(fields)
    }

    static func ended(_ run: Run, _ entry: OutboxEntry, _ call: Call, _ fields: Fields) -> Result<
        Response, Problem
    > {
        switch run.state {
        case .failed:
            let detail = run.error ?? "The run failed; the gateway gave no reason."
            return .failure(
                Problem(run.code == .interrupted ? .runInterrupted : .runFailed, detail)
                    .adding(member: "entry") { $0.value(entry) }.adding(member: "run") { $0.value(run) }
            )
        case .aborted:
            return .failure(
                Problem(.runAborted, "The run was aborted before it ended.")
                    .adding(member: "entry") { $0.value(entry) }.adding(member: "run") { $0.value(run) }
            )
        case .queued, .running, .completed: return .success(reply(run, entry, call, fields))
        }
    }

    /// The reply. A message that starts no run, such as a command, or one that a run at work read, has none.
    static func reply(_ run: Run?, _ entry: OutboxEntry, _ call: Call, _ fields: Fields) -> Response {
        let text = run?.text ?? ""
        guard !call.wantsText else {
            if let joined = entry.joinedRun { return .text(.ok, "joined \(Printable.line(joined))\n").adding(fields) }
            let shown = Printable.document(text)
            return .text(.ok, shown.isEmpty || shown.hasSuffix("\n") ? shown : shown + "\n").adding(fields)
        }
        return Response.object { object in
            object.member("entry", entry)
            object.member("run", run)
            object.member("reply", text)
        }.adding(fields)
    }

    /// Nil while a run may still follow.
    static func failure(of entry: OutboxEntry) -> Problem? {
        let fault = entry.fault
        let problem: Problem
        switch entry.state {
        case .failed:
            problem = Problem(
                .sendRejected,
                fault?.detail ?? "The gateway did not take the message.",
                hint: "POST /v1/outbox/\(entry.id)/retry sends it again, DELETE /v1/outbox/\(entry.id) dismisses it"
            ).adding(member: "gatewayCode") { $0.string(fault?.code ?? "UNKNOWN") }
        case .cancelled:
            let detail =
                entry.isCancelledUnsent
                ? "The message was taken back before it was sent."
                : "The message was taken back; it may have been sent."
            problem = Problem(.entryCancelled, fault?.detail ?? detail)
        case .expired:
            problem = Problem(
                .entryExpired,
                "The message could not be sent before its time ran out at \(entry.expiresAt.rfc3339).",
                hint: "POST /v1/outbox/\(entry.id)/retry sends it all the same"
            )
        default: return nil
        }
        return problem.adding(member: "entry") { $0.value(entry) }
    }
}

extension Response {
    func adding(_ more: [(name: FieldName, value: String)]) -> Response {
        var copy = self
        for field in more { copy.head.fields.append(field.name, field.value) }
        return copy
    }
}

extension Problem {
    func adding(_ more: [(name: FieldName, value: String)]) -> Problem {
        var copy = self
        copy.fields += more
        return copy
    }
}
