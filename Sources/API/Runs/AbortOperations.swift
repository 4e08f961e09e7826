import Access
import Basics
import EventLoops
import Gateway
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service
import Store
import TLS
import Upstream

/// `POST /v1/runs/{id}/abort` and `POST /v1/sessions/{key}/abort`. The run is always named to the gateway: releases
/// disagree about which spelling of a session's key they match.
enum AbortOperations {
    static func run(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        api.findRun(call, on: loop) { found in
            switch found {
            case .live(let run) where run.state.isActive:
                Aborting(api, call, session: run.session.text).start([run.id], on: loop)
            case .live(let run): Aborting.answer(call, aborted: [], over: run.state.rawValue, on: loop)
            case .stored(let row, _): Aborting.answer(call, aborted: [], over: row.state, on: loop)
            case .waiting(let entry): call.fail(.notStarted(entry), on: loop)
            }
        }
    }

    static func session(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let session = try api.session(named: call.parameters.first ?? "", "key")
            guard call.caller.mayUse(session: session) else { throw Problem(.foreignSession) }
            let abort = Aborting(api, call, session: session)
            let runs = api.runs.runs(activeOnly: true, session: session).map(\.id)
            if runs.isEmpty { abort.ask(on: loop) } else { abort.start(runs, on: loop) }
        } catch {
            call.fail(error, on: loop)
        }
    }
}

/// One request to abort, of one run or of all that a session has.
final class Aborting {
    /// An abort that comes later than this is none that anybody still wants.
    private static let ttlMilliseconds: Int64 = 600_000

    private let api: HTTPAPI
    private let call: Call
    private let session: String
    private var aborted: [String] = []
    private var waiting = 0
    private var failure: CallFailure?

    init(_ api: HTTPAPI, _ call: Call, session: String) {
        self.api = api
        self.call = call
        self.session = session
    }

    /// Nothing is known to run: a newer gateway tells of a run that began before this link did.
    func ask(on loop: isolated EventLoop) {
        guard api.link.isOnline else { return Self.answer(call, aborted: [], over: nil, on: loop) }
        api.link.call(ChatHistory(sessionKey: session, limit: 1), on: loop) { [self] result in
            guard case .success(let page) = result, let run = page.inFlightRunId else {
                return Self.answer(call, aborted: [], over: nil, on: loop)
            }
            start([run], on: loop)
        }
    }

    func start(_ runs: [String], on loop: isolated EventLoop) {
        guard api.link.isOnline else { return enqueue(runs, on: loop) }
        waiting = runs.count
        for run in runs {
            api.link.call(ChatAbort(sessionKey: session, runId: run), on: loop) { [self] result in
                waiting -= 1
                switch result {
                case .success(let output):
                    if output.aborted { aborted += output.runIds.isEmpty ? [run] : output.runIds }
                case .failure(let fault): failure = fault
                }
                if waiting == 0 { finish(on: loop) }
            }
        }
    }

    private func finish(on loop: isolated EventLoop) {
        if aborted.isEmpty, let failure {
            return call.fail(Problem(failure, for: "abort", over: api.link), on: loop)
        }
        Self.answer(call, aborted: aborted, over: nil, on: loop)
    }

    static func answer(_ call: Call, aborted: [String], over state: String?, on loop: isolated EventLoop) {
        call.respond(
            .json { writer in
                writer.object { object in
                    object.member("aborted", !aborted.isEmpty)
                    object.array("runIds", of: aborted)
                    // What it had come to before the request.
                    object.member("state", state)
                }
            },
            on: loop
        )
    }

    // MARK: While the gateway is away

    /// The control lane overtakes what waits in the session.
    private func enqueue(_ runs: [String], on loop: isolated EventLoop) {
        let now = loop.wallClock
        let entries = runs.map { run in
            OutboxEntry(
                id: UUIDv7.make(milliseconds: now.milliseconds, random: SecureRandom.bytes(10)),
                kind: .abort,
                session: session,
                createdAt: now,
                expiresAt: now.adding(milliseconds: Self.ttlMilliseconds),
                coalescingKey: "abort \(run)",
                owner: call.caller.tokenID
            )
        }
        let limits = api.settings.outboxLimits
        api.feed.commit(on: loop) { transaction in
            var accepted: [OutboxEntry] = []
            for (entry, run) in zip(entries, runs) {
                let payload = OutboxTable.Payload(text: run, body: nil)
                let result = try transaction.enqueue(entry, payload: payload, limits: limits)
                if case .accepted(let entry) = result { accepted.append(entry) }
            }
            return accepted
        } completion: { [self] result in
            switch result {
            case .success(let accepted): queued(accepted, on: loop)
            case .failure(let error): call.fail(.storage(error), on: loop)
            }
        }
    }

    private func queued(_ entries: [OutboxEntry], on loop: isolated EventLoop) {
        for entry in entries { api.accepted(entry, on: loop) }
        guard let first = entries.first else {
            return call.fail(.outboxFull(.entries, api.settings.outboxLimits), on: loop)
        }
        let response = Response.json(.accepted) { writer in
            writer.object { object in
                object.member("aborted", false)
                object.array("runIds", of: [String]())
                object.array("entries", of: entries)
            }
        }
        call.respond(response.adding(.location, "/v1/outbox/\(first.id)"), on: loop)
    }
}

extension Problem {
    static func notStarted(_ entry: OutboxEntry) -> Problem {
        Problem(
            .runNotStarted,
            "The message is \(entry.state.rawValue); nothing runs for it.",
            hint: "DELETE /v1/outbox/\(entry.id) takes it back"
        )
    }
}
