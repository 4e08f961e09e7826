import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Server
import Service

/// `POST /v1/outbox/{id}/retry` and `DELETE /v1/outbox/{id}`: send an entry again, cancel it or dismiss it.
enum EntryOperations {
    static func retry(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try readUnchanged(api, call, on: loop) { entry, version in
            api.outbox.retry(entry.id, expectedVersion: version, on: loop) { result in
                finish(call, entry, result, api, isRetry: true, on: loop)
            }
        }
    }

    static func cancel(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let isForced = try call.flag("force")
        try readUnchanged(api, call, on: loop) { entry, version in
            api.outbox.cancel(entry.id, force: isForced, expectedVersion: version, on: loop) { result in
                finish(call, entry, result, api, isRetry: false, on: loop)
            }
        }
    }

    /// Reads the entry and checks the request's `If-Match` against it. With `If-Match` the version just read is passed
    /// on, so that the write fails if the entry changes in between.
    private static func readUnchanged(
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop,
        then act: @escaping (OutboxEntry, Int64?) -> Void
    ) throws(Problem) {
        let condition = try call.ifMatch()
        try OutboxOperations.read(api, call, on: loop) { entry, _ throws(Problem) in
            if let condition, !condition.matchesStrongly(entry.tag) { throw .staleEntry(current: entry.version) }
            act(entry, condition == nil ? nil : entry.version)
        }
    }

    private static func finish(
        _ call: Call,
        _ known: OutboxEntry,
        _ result: Result<OutboxEntry, OutboxRefusal>,
        _ api: HTTPAPI,
        isRetry: Bool,
        on loop: isolated EventLoop
    ) {
        switch result {
        case .success(var entry):
            entry.text = entry.text ?? known.text
            answer(call, entry, api, on: loop)
        case .failure(.notFound):
            // The dispatcher no longer holds final entries; the row tells how this one ended.
            if !isRetry, known.state == .cancelled { return answer(call, known, api, on: loop) }
            call.fail(isRetry && known.state == .cancelled ? .notRetryable(known) : .alreadyDispatched(known), on: loop)
        case .failure(.staleVersion(let current)): call.fail(.staleEntry(current: current), on: loop)
        case .failure(.alreadyDispatched(let state)):
            var entry = known
            entry.state = state
            call.fail(.alreadyDispatched(entry), on: loop)
        case .failure(.needsForce): call.fail(.needsForce(known), on: loop)
        case .failure(.notRetryable(let state)):
            var entry = known
            entry.state = state
            call.fail(.notRetryable(entry), on: loop)
        case .failure(.storage(let error)): call.fail(.storage(error), on: loop)
        }
    }

    private static func answer(_ call: Call, _ entry: OutboxEntry, _ api: HTTPAPI, on loop: isolated EventLoop) {
        let reason = api.outbox.blockedReason(session: entry.session)
        let response = Response.json { entry.write(to: &$0, blockedReason: reason) }
        call.respond(response.adding(.etag, entry.tag.text), on: loop)
    }
}

extension Problem {
    static func staleEntry(current: Int64) -> Problem {
        Problem(
            .entryChanged,
            "The entry has moved on; its version is \(current) now.",
            field: "If-Match"
        ).adding(.etag, EntityTag(String(current)).text)
    }

    static func alreadyDispatched(_ entry: OutboxEntry) -> Problem {
        let run = PercentCoding.encode(entry.joinedRun ?? entry.run)
        return Problem(
            .alreadyDispatched,
            "The entry is \(entry.state.rawValue): the gateway has it.",
            hint: "POST /v1/runs/\(run)/abort stops what it started"
        )
    }

    static func needsForce(_ entry: OutboxEntry) -> Problem {
        Problem(
            .entryUnconfirmed,
            "The message may have arrived; nobody can tell yet.",
            hint: "DELETE /v1/outbox/\(entry.id)?force=true forgets it all the same, without a promise"
        )
    }

    static func notRetryable(_ entry: OutboxEntry) -> Problem {
        Problem(.notRetryable, "The entry is \(entry.state.rawValue); there is nothing to send again.")
    }
}
