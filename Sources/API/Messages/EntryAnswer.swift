import Basics
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service
import Store

/// A run that is over, from memory or from the database.
struct EndedRun {
    let state: String
    let text: String
    let error: String?
    /// The run of the API, with its steps.
    let json: [UInt8]

    init?(_ run: Run?) {
        guard let run, !run.state.isActive else { return nil }
        state = run.state.rawValue
        text = run.text
        error = run.error
        var writer = JSONWriter(capacity: run.text.utf8.count + 512)
        run.write(to: &writer)
        json = writer.bytes
    }

    init?(_ stored: StoredRun?, steps: [[UInt8]]) {
        guard let stored, stored.endedAt != nil, let run = try? JSONDocument(parsing: stored.body).root else {
            return nil
        }
        state = stored.state
        text = run["text"]?.string ?? ""
        error = run["error"]?.string
        json = stored.json(steps: steps)
    }
}

extension StoredRun {
    /// The row holds the run without its steps; they come in before its closing brace.
    func json(steps: [[UInt8]]) -> [UInt8] {
        var bytes = body
        guard bytes.last == UInt8(ascii: "}") else { return bytes }
        bytes.removeLast()
        bytes.append(contentsOf: ",\"steps\":[".utf8)
        for (place, step) in steps.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: step)
        }
        bytes.append(contentsOf: "]}".utf8)
        return bytes
    }
}

/// The answers to a message, once its fate is known or the time is up.
enum EntryAnswer {
    typealias Fields = [(name: FieldName, value: String)]

    static func accepted(_ entry: OutboxEntry, _ call: Call, _ api: HTTPAPI, _ fields: Fields) -> Response {
        guard !call.wantsText else {
            return .text(.accepted, "queued \(entry.id)\n").adding(fields)
        }
        let reason = api.outbox.blockedReason
        return Response.json(.accepted) { entry.write(to: &$0, blockedReason: reason) }.adding(fields)
    }

    static func ended(_ run: EndedRun, _ entry: OutboxEntry, _ call: Call, _ fields: Fields) -> Result<
        Response, Problem
    > {
        switch run.state {
        case Run.State.failed.rawValue:
            let detail = run.error ?? "The run failed; the gateway gave no reason."
            return .failure(
                Problem(.runFailed, detail)
                    .adding(member: "entry") { $0.value(entry) }.adding(member: "run") { $0.raw(run.json) }
            )
        case Run.State.aborted.rawValue:
            return .failure(
                Problem(.runAborted, "The run was aborted before it ended.")
                    .adding(member: "entry") { $0.value(entry) }.adding(member: "run") { $0.raw(run.json) }
            )
        default: return .success(reply(run, entry, call, fields))
        }
    }

    /// Without a run where the message was an order that starts none.
    static func reply(_ run: EndedRun?, _ entry: OutboxEntry, _ call: Call, _ fields: Fields) -> Response {
        let text = run?.text ?? ""
        guard !call.wantsText else {
            return .text(.ok, text.isEmpty || text.hasSuffix("\n") ? text : text + "\n").adding(fields)
        }
        return Response.json { writer in
            writer.object { object in
                object.member("entry", entry)
                object.member("run", raw: run?.json)
                object.member("reply", text)
            }
        }.adding(fields)
    }

    /// nil while it may still come to a run.
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
            problem = Problem(.entryCancelled, "The message was taken back before it was sent.")
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
