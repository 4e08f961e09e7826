import Access
import EventLoops
import HTTPModel
import JSONBytes
import Observability
import Server
import Service

/// Health, readiness and the status screen.
enum SystemOperations {
    static let routes = [
        Route("getHealth", .get, "/healthz", scope: nil, handler: health),
        Route(
            "getMetrics",
            .get,
            "/metrics",
            scope: .read,
            produces: MetricsOperation.types,
            handler: MetricsOperation.handle
        ),
        Route("getOpenAPIAsJSON", .get, "/openapi.json", scope: .read, handler: OpenAPIDocument.getJSON),
        Route(
            "getOpenAPIAsYAML",
            .get,
            "/openapi.yaml",
            scope: .read,
            produces: [.yaml],
            handler: OpenAPIDocument.getYAML
        ),
        Route("getAsyncAPI", .get, "/asyncapi.json", scope: .read, handler: OpenAPIDocument.getEvents),
        Route("getReadiness", .get, "/readyz", scope: .read, handler: readiness),
        Route(
            "getFrames",
            .get,
            "/v1/debug/frames",
            scope: .admin,
            produces: [.json, .eventStream],
            query: ["before", "limit", "since"],
            isPage: true,
            handler: FrameOperations.frames
        ),
        Route("getGatewayReport", .get, "/v1/debug/gateway", scope: .admin, handler: gatewayReport),
        Route("getStatus", .get, "/v1/status", scope: .read, produces: [.json, .plain], handler: status),
    ]

    private static let alive = Response.object { $0.member("status", "ok") }.adding(.cacheControl, "no-store")

    private static let ready = Response.object { $0.member("status", "ready") }.adding(.cacheControl, "no-store")

    /// Reports that the process is alive and its loop runs. Open to everyone, so the answer says nothing else.
    static func health(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        call.respond(alive, on: loop)
    }

    /// Reports whether a send would be accepted durably now. The gateway does not count, because restarting Ladle does
    /// not repair it; its state is only told.
    static func readiness(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        if let follower = api.follower {
            return call.attempt(on: loop) { () throws(Problem) in
                try follower.checkLeader(on: loop)
                call.respond(ready, on: loop)
            }
        }
        api.feed.probe(on: loop) { fault in
            if let fault { return call.fail(.storeUnavailable(fault), on: loop) }
            let link = api.services.gateway.status.shown(to: call.caller)
            call.respond(ready(beside: link), on: loop)
        }
    }

    /// The gateway stands beside the answer: a pause is told with its reason, and with its end if the gateway named one.
    private static func ready(beside link: LinkStatus) -> Response {
        let answer = Response.object { object in
            object.member("status", "ready")
            object.object("gateway") { gateway in
                gateway.member("state", link.state.rawValue)
                if link.state != .online || link.code != nil { gateway.member("reason", link.detail) }
                gateway.member("until", link.until)
            }
        }
        return answer.adding(.cacheControl, "no-store")
    }

    /// The gateway as Ladle saw it, by names and numbers alone.
    static func gatewayReport(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let report = GatewayReport(api.services.gateway)
        call.respond(Response.json { report.write(to: &$0) }.adding(.cacheControl, "no-store"), on: loop)
    }

    static func status(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let status = StatusReport(api, for: call.caller, on: loop)
        guard !call.wantsText else {
            let text = Response.text(.ok, status.text(now: loop.wallClock))
            return call.respondTagged(text.adding(.cacheControl, "no-cache"), on: loop)
        }
        let answer = api.status.of(status)
        call.respond(answer.response, tag: answer.tag, on: loop)
    }
}

/// The last status answer: clients ask often, and it seldom changes.
final class StatusAnswer {
    private var last: (report: StatusReport, response: Response, tag: EntityTag)?

    func of(_ report: StatusReport) -> (response: Response, tag: EntityTag) {
        if let last, last.report == report { return (last.response, last.tag) }
        let response = Response.json(.ok, report).adding(.cacheControl, "no-cache")
        let tag = EntityTag(ofBytes: response.body)
        last = (report, response, tag)
        return (response, tag)
    }
}
