import Access
import EventLoops
import HTTPModel
import JSONBytes
import Ledger
import Server
import Service

/// `GET /v1/models`: the models a session can use.
enum ModelOperations {
    static let routes = [
        Route("listModels", .get, "/v1/models", scope: .read, query: ["view"], handler: Route.flow(list))
    ]

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        if call.answersWarm(api, on: loop) { return }
        let view: ModelView? = try call.choice("view")
        guard api.services.models.isSupported else { throw .unsupported(.models, api) }
        let answer: KeptAnswer<[ModelInfo]>
        do throws(GatewayFault) {
            answer = try await api.services.models.read(view, on: loop)
        } catch {
            throw Problem(error, doing: "list models")
        }
        call.respondTagged(
            .object { object in
                object.array("models", of: answer.value)
                object.member("live", answer.isLive)
                if !answer.isLive { object.member("asOf", answer.at) }
            },
            warming: api,
            on: loop
        )
    }
}
