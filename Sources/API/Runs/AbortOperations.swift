import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service

/// `POST /v1/runs/{id}/abort` and `POST /v1/sessions/{key}/abort`.
enum AbortOperations {
    static let routes = [
        Route("abortRun", .post, "/v1/runs/{id}/abort", scope: .send, body: .unused, handler: Route.flow(run)),
        Route("abortSession", .post, "/v1/sessions/{key}/abort", scope: .send, body: .unused, handler: session),
    ]

    static func run(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        switch try await RunOperations.find(api, call, on: loop) {
        case .run(let run) where run.state.isActive: stop(run.id, in: run.session.text, api, call, on: loop)
        case .run(let run): try await stopSuccessor(of: run, api, call, on: loop)
        case .waiting(let entry):
            switch entry.state {
            // Nobody knows whether a run began.
            case .sending, .accepted, .unconfirmed, .delivered:
                stop(entry.run, in: entry.session, api, call, on: loop)
            case .queued, .retrying, .failed, .expired:
                throw Problem(
                    .runNotStarted,
                    "The message is \(entry.state.rawValue); nothing runs for it.",
                    hint: "DELETE /v1/outbox/\(entry.id) takes it back"
                )
            case .cancelled: throw Problem(.runNotStarted, "The message was cancelled; nothing runs for it.")
            }
        }
    }

    private static func stop(
        _ run: String,
        in session: String,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) {
        api.services.aborts.stop([run], in: session, owner: call.caller.identity, on: loop) {
            answer(call, $0, api, on: loop)
        }
    }

    /// Stops the run that answers the message now: a restarted gateway goes on with it under another id.
    private static func stopSuccessor(
        of run: Run,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) async throws(Problem) {
        let next: String?
        do { next = try await api.services.runArchive.successor(of: run.id, on: loop) } catch { throw .storage(error) }
        guard let next else { return answer(call, stopped: [], over: run.state.rawValue, on: loop) }
        stop(next, in: run.session.text, api, call, on: loop)
    }

    static func session(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let session = try api.runs.session(named: call.pathID, "key")
        guard call.caller.mayUse(session: session) else { throw Problem(.foreignSession) }
        api.services.aborts.stopAll(in: session, owner: call.caller.identity, on: loop) {
            answer(call, $0, api, on: loop)
        }
    }

    private static func answer(
        _ call: Call,
        _ result: Result<AbortService.Outcome, ServiceFault>,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        switch result {
        case .success(.stopped(let runs)): answer(call, stopped: runs, over: nil, on: loop)
        case .success(.kept(let entries, let stopped, let isGone)):
            let gone =
                "The gateway has no such run now. If it goes on with that run, or has yet to begin it, Ladle stops it then."
            let response = Response.object(.accepted) { object in
                object.member("aborted", !stopped.isEmpty)
                object.array("runIds", of: stopped)
                if isGone { object.member("detail", gone) }
                object.array("entries", of: entries)
            }
            call.respond(response.adding(.location, "/v1/outbox/\(entries.first?.id ?? "")"), on: loop)
        case .failure(let fault): call.fail(Problem(fault, doing: "abort"), on: loop)
        }
    }

    /// - Parameter state: the state of a run that was not stopped.
    private static func answer(
        _ call: Call,
        stopped runs: [String],
        over state: String?,
        on loop: isolated EventLoop
    ) {
        call.respond(
            .object { object in
                object.member("aborted", !runs.isEmpty)
                object.array("runIds", of: runs)
                object.member("state", state)
            },
            on: loop
        )
    }
}
