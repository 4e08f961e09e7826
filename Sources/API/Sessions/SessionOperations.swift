import Access
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// `GET /v1/sessions` and `GET /v1/agents`: what one can write to and subscribe to.
enum SessionOperations {
    static func sessions(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let limit = try call.number("limit", in: 1...GatewayLists.mostSessions, default: 200)
            api.services.lists.readSessions(on: loop) { result in
                // A caller limited to sessions sees those.
                answer(call, "sessions", result, limit, api, on: loop) { call.caller.mayUse(session: $0.key) }
            }
        } catch {
            call.fail(error, on: loop)
        }
    }

    static func agents(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        api.services.lists.readAgents(on: loop) { result in
            answer(call, "agents", result, .max, api, on: loop) { call.caller.mayUse(agent: $0.key) }
        }
    }

    private static func answer(
        _ call: Call,
        _ name: String,
        _ result: Result<GatewayLists.List, ServiceFault>,
        _ limit: Int,
        _ api: HTTPAPI,
        on loop: isolated EventLoop,
        mayShow: (GatewayLists.Row) -> Bool
    ) {
        switch result {
        case .success(let list):
            let shown = list.rows.filter(mayShow).prefix(limit)
            call.respondTagged(
                .json { writer in
                    writer.object { object in
                        object.array(name) { items in
                            for row in shown { items.raw(row.json) }
                        }
                        object.member("live", list.isLive)
                        if !list.isLive { object.member("asOf", list.asOf ?? api.startedAt) }
                    }
                },
                on: loop
            )
        case .failure(let fault): call.fail(Problem(fault, doing: "list \(name)"), on: loop)
        }
    }
}
