import Access
import Basics
import EventLoops
import EventStream
import HTTPModel
import JSONBytes
import Server
import Service

/// `GET /v1/events`: one stream of all events in three formats, and the long poll with the same cursor.
enum EventStreamOperation {
    static let routes = [
        Route(
            "streamEvents",
            .get,
            "/v1/events",
            scope: .read,
            produces: [.eventStream, .ndjson, .plain, .json],
            query: [
                "compress", "heartbeat", "limit", "poll", "run", "session", "since", "snapshot", "ticket", "timeout",
                "types",
            ],
            handler: Route.flow(handle)
        )
    ]

    static let types = [
        "hello", "link", "run.started", "run.delta", "run.step", "run.ended", "run.corrected", "message", "outbox",
        "approval", "question", "automation", "node", "device", "notification", "pairing", "identity", "profile",
        "session",
        "usage", "summary", "reset", "shutdown", "heartbeat",
    ]

    /// The stream that a request asks for.
    struct StreamRequest {
        var filter: EventFilter
        var format = StreamFormat.eventStream
        var cursor: EventID?
        var wantsSnapshot = false
        var heartbeatSeconds: Int
        var heartbeatAsEvent = false
        /// Requires `compress=gzip` beside `Accept-Encoding`, which libraries send unasked: an attacker who sends
        /// messages and sees only compressed lengths could learn about the texts beside them.
        var isCompressed = false
        var limit: Int?
        var timeoutSeconds: Int?
        var pollSeconds: Int?
    }

    private static let streamTypes = [MediaType.eventStream, .ndjson, .plain]

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let request = try request(of: call, api)
        try api.follower?.checkLeader(on: loop)
        api.source.follow(request.filter, by: call.caller, on: loop)
        if let seconds = request.pollSeconds {
            try await LongPoll(api, call, request, seconds: seconds).run(on: loop)
        } else {
            try await StreamOpening(api, call, request).run(on: loop)
        }
    }

    private static func request(of call: Call, _ api: HTTPAPI) throws(Problem) -> StreamRequest {
        var request = StreamRequest(
            filter: try filter(of: call, api),
            heartbeatSeconds: api.settings.heartbeatSeconds
        )
        // An empty id counts as none: a client that has seen no id sends it.
        let header = call.head.fields.string(for: .lastEventID).flatMap { $0.isEmpty ? nil : $0 }
        if let text = header ?? call.text("since"), !text.isEmpty {
            do throws(EventIDError) {
                request.cursor = try EventID(parsing: text)
            } catch {
                throw .badParameter(
                    header != nil ? "Last-Event-ID" : "since",
                    "\(error.text) It stands in the `id` of an event."
                )
            }
        }
        request.wantsSnapshot = try call.flag("snapshot")
        if call.text("heartbeat") == "event" {
            request.heartbeatAsEvent = true
        } else {
            request.heartbeatSeconds = try call.number("heartbeat", in: 5...60, default: api.settings.heartbeatSeconds)
        }
        if let coding = call.text("compress") {
            guard coding == "gzip" else { throw .badParameter("compress", "The one coding of streams is gzip.") }
            request.isCompressed = call.head.fields.acceptsGzip
        }
        if call.text("limit") != nil { request.limit = try call.number("limit", in: 1...1_000_000, default: 1) }
        if call.text("timeout") != nil {
            request.timeoutSeconds = try call.number("timeout", in: 1...86_400, default: 1)
        }
        if call.text("poll") != nil {
            request.pollSeconds = try call.number("poll", in: 0...300, default: 30)
        } else {
            // JSON is only for the long poll.
            request.format = StreamFormat(try call.head.answerType(among: streamTypes))
        }
        return request
    }

    private static func filter(of call: Call, _ api: HTTPAPI) throws(Problem) -> EventFilter {
        var session = call.text("session")
        if let named = session { session = try api.runs.session(named: named, "session") }
        do throws(EventFilterError) {
            return try EventFilter(types: call.text("types"), session: session, run: call.text("run"), known: types)
        } catch {
            throw .badParameter(error.parameter, error.text)
        }
    }
}
