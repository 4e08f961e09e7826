import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Server
import Service
import Store

/// `GET /v1/outbox` and `GET /v1/outbox/{id}`.
enum OutboxOperations {
    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let query = try query(of: call, api)
            let sessions = try api.onlySessions(call)
            let bound = LoopBound(call, on: loop)
            let reason = api.outbox.blockedReason
            api.feed.journal.read { tables in
                let table = tables.outbox
                if let before = query.before, try table.entry(id: before) == nil { return nil }
                var (query, counts, entries) = (query, OutboxCounts(), [OutboxEntry]())
                for session in sessions {
                    query.session = session
                    counts.add(try table.counts(session: session))
                    entries += try table.list(query)
                }
                entries.sort { $0.ordinal > $1.ordinal }
                return (counts, Array(entries.prefix(query.limit)))
            } completion: { [weak loop] (result: Result<(OutboxCounts, [OutboxEntry])?, any Error>) in
                loop?.post { loop in
                    guard let call = bound.value(on: loop) else { return }
                    switch result {
                    case .success((let counts, let entries)?):
                        answer(call, counts, entries, limit: query.limit, reason, on: loop)
                    case .success: call.fail(.noPlace("before", "entry"), on: loop)
                    case .failure(let error): call.fail(.storage(error), on: loop)
                    }
                }
            }
        } catch {
            call.fail(error, on: loop)
        }
    }

    private static func query(of call: Call, _ api: HTTPAPI) throws(Problem) -> OutboxTable.Query {
        var query = OutboxTable.Query()
        query.limit = try call.number("limit", in: 1...500, default: 50)
        if let text = call.text("state") {
            for name in text.split(separator: ",", omittingEmptySubsequences: false) {
                guard let state = OutboxState(rawValue: String(name)) else {
                    let names = OutboxState.allCases.map(\.rawValue)
                    let near = NearestName.of(String(name), in: names).map { " Did you mean \($0)?" } ?? ""
                    throw .badParameter(
                        "state",
                        "An entry's state is one of \(names.joined(separator: ", "))." + near
                    )
                }
                query.states.append(state)
            }
        }
        query.before = try call.entryID("before")
        return query
    }

    private static func answer(
        _ call: Call,
        _ counts: OutboxCounts,
        _ entries: [OutboxEntry],
        limit: Int,
        _ reason: String?,
        on loop: isolated EventLoop
    ) {
        let response = Response.json { writer in
            writer.object { object in
                object.member("pending", counts.pending)
                object.member("unconfirmed", counts.unconfirmed)
                object.member("failed", counts.failed)
                object.array("entries") { list in
                    for entry in entries { entry.write(to: &list, blockedReason: reason) }
                }
                if entries.count == limit { object.member("before", entries.last?.id) }
            }
        }
        call.respondTagged(response, on: loop)
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        api.readEntry(call, on: loop) { entry, attempts in
            let reason = api.outbox.blockedReason
            let response = Response.json { entry.write(to: &$0, blockedReason: reason, attempts: attempts) }
            call.respond(response, tag: entry.tag, on: loop)
        }
    }
}

extension OutboxEntry {
    var tag: EntityTag { EntityTag(String(version)) }
}

extension Call {
    /// A parameter that is the id of an entry.
    func entryID(_ name: String) throws(Problem) -> String? {
        guard let id = text(name) else { return nil }
        guard UUIDv7.isWellFormed(id) else { throw .badParameter(name, "`\(name)` is the id of an entry.") }
        return id
    }

    /// A resource whose validator is made of its bytes.
    func respondTagged(_ response: Response, on loop: isolated EventLoop) {
        respond(response, tag: EntityTag(ofBytes: response.body), on: loop)
    }
}

extension EntityTag {
    /// FNV-1a: tells versions of one resource apart, and nothing else.
    init(ofBytes bytes: [UInt8]) {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        self.init(String(hash, radix: 16))
    }
}

extension HTTPAPI {
    /// The `session` parameter as a filter; nil stands for all. A caller bound to sessions that names none sees only its own.
    func onlySessions(_ call: Call) throws(Problem) -> [String?] {
        if let text = call.text("session") {
            let session = try session(named: text, "session")
            guard call.caller.mayUse(session: session) else { throw Problem(.foreignSession) }
            return [session]
        }
        return call.caller.sessions.map(Array.init) ?? [nil]
    }

    /// The entry that the path names, if the caller may see it; else the request is answered.
    func readEntry(
        _ call: Call,
        on loop: isolated EventLoop,
        then use: @escaping (OutboxEntry, [OutboxAttempt]) -> Void
    ) {
        let id = call.parameters.first ?? ""
        guard UUIDv7.isWellFormed(id) else { return call.fail(.noEntry, on: loop) }
        let bound = LoopBound((call, use), on: loop)
        feed.journal.read { tables in
            let table = tables.outbox
            return (try table.entry(id: id), try table.attempts(id: id))
        } completion: { [weak loop] result in
            loop?.post { loop in
                guard let (call, use) = bound.value(on: loop) else { return }
                switch result {
                case .success((let entry?, let attempts)):
                    guard call.caller.mayUse(session: entry.session) else {
                        return call.fail(Problem(.foreignSession), on: loop)
                    }
                    use(entry, attempts)
                case .success: call.fail(.noEntry, on: loop)
                case .failure(let error): call.fail(.storage(error), on: loop)
                }
            }
        }
    }
}
