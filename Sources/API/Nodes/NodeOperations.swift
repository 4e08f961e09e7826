import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// `/v1/nodes`: devices that let the gateway use their camera, screen or other functions. They belong to no session, so
/// a token limited to sessions is refused.
enum NodeOperations {
    static let routes = [
        Route("listNodes", .get, "/v1/nodes", scope: .read, query: ["refresh"], handler: list),
        Route("getNode", .get, "/v1/nodes/{id}", scope: .read, query: ["refresh"], handler: get),
        Route(
            "invokeNode",
            .post,
            "/v1/nodes/{id}/invoke",
            scope: .nodes,
            body: NodeInvokeOperation.body,
            produces: NodeInvokeOperation.types,
            handler: Route.flow(NodeInvokeOperation.handle)
        ),
    ]

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try read(api, call, doing: "list the nodes", loop) { list in
            let response = Response.object { object in
                object.array("nodes") { items in for row in list.rows { row.write(to: &items) } }
                object.member("live", list.isLive)
                if !list.isLive { object.member("asOf", list.asOf ?? api.startedAt) }
            }
            call.respondTagged(response, on: loop)
        }
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try read(api, call, doing: "read the node", loop) { list in
            guard let row = list.rows.first(where: { $0.id == call.pathID }) else {
                return call.fail(.noNode, on: loop)
            }
            call.respondTagged(.json { row.write(to: &$0) }, on: loop)
        }
    }

    private static func read(
        _ api: HTTPAPI,
        _ call: Call,
        doing action: String,
        _ loop: isolated EventLoop,
        answer: @escaping (NodeService.List) -> Void
    ) throws(Problem) {
        guard call.caller.sessions == nil else { throw .ofNoSession }
        api.services.nodes.read(refresh: try call.flag("refresh"), on: loop) { result in
            switch result {
            case .success(let list): answer(list)
            case .failure(let fault): call.fail(Problem(fault, doing: action), on: loop)
            }
        }
    }
}

extension Problem {
    static let noNode = Problem(.nodeNotFound, "The gateway knows no node of this whole id.")
}
