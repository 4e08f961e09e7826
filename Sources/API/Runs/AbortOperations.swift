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
    static func run(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        RunOperations.find(api, call, on: loop) { found throws(Problem) in
            switch found {
            case .run(.live(let run)) where run.state.isActive:
                api.services.aborts.stop([run.id], in: run.session.text, owner: call.caller.tokenID, on: loop) {
                    answer(call, $0, api, on: loop)
                }
            case .run(let run): answer(call, stopped: [], over: run.state, on: loop)
            case .waiting(let entry):
                throw Problem(
                    .runNotStarted,
                    "The message is \(entry.state.rawValue); nothing runs for it.",
                    hint: "DELETE /v1/outbox/\(entry.id) takes it back"
                )
            }
        }
    }

    static func session(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let session = try api.runs.session(named: call.pathID, "key")
        guard call.caller.mayUse(session: session) else { throw Problem(.foreignSession) }
        api.services.aborts.stopAll(in: session, owner: call.caller.tokenID, on: loop) {
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
        case .success(.gone):
            let detail = "The gateway no longer has this run. Ladle is finding out how it ended."
            answer(call, stopped: [], over: Run.State.running.rawValue, detail: detail, on: loop)
        case .success(.queued(let entries)):
            let response = Response.object(.accepted) { object in
                object.member("aborted", false)
                object.array("runIds", of: [String]())
                object.array("entries", of: entries)
            }
            call.respond(response.adding(.location, "/v1/outbox/\(entries.first?.id ?? "")"), on: loop)
        case .success(.outboxFull(let limits)): call.fail(.outboxFull(.entries, limits), on: loop)
        case .failure(let fault): call.fail(Problem(fault, doing: "abort"), on: loop)
        }
    }

    /// - Parameter state: the state of a run that was not stopped.
    private static func answer(
        _ call: Call,
        stopped runs: [String],
        over state: String?,
        detail: String? = nil,
        on loop: isolated EventLoop
    ) {
        call.respond(
            .object { object in
                object.member("aborted", !runs.isEmpty)
                object.array("runIds", of: runs)
                object.member("state", state)
                object.member("detail", detail)
            },
            on: loop
        )
    }
}
