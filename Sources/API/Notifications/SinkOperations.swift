import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Notifications
import Server
import Service
import TLS

/// `/v1/notifications/sinks`: the destinations of notifications. Secrets are accepted and never shown, except a
/// webhook's new key.
enum SinkOperations {
    static let routes = [
        Route("listSinks", .get, "/v1/notifications/sinks", scope: .read, handler: list),
        Route(
            "createSink",
            .post,
            "/v1/notifications/sinks",
            scope: .admin,
            body: Route.json,
            grantsOrLimits: true,
            handler: Route.flow(create)
        ),
        Route("deleteSink", .delete, "/v1/notifications/sinks/{id}", scope: .admin, handler: Route.flow(delete)),
        Route("getSink", .get, "/v1/notifications/sinks/{id}", scope: .read, handler: get),
        Route(
            "patchSink",
            .patch,
            "/v1/notifications/sinks/{id}",
            scope: .admin,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            handler: Route.flow(patch)
        ),
        Route(
            "rotateSink",
            .post,
            "/v1/notifications/sinks/{id}/rotate",
            scope: .admin,
            body: .unused,
            handler: Route.flow(rotate)
        ),
        Route("testSink", .post, "/v1/notifications/sinks/{id}/test", scope: .admin, body: .unused, handler: test),
    ]

    // MARK: Reading

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        guard call.caller.sessions == nil else { throw Problem(.foreignSession) }
        let sinks = api.services.notificationPreferences.sinks
        call.respondTagged(
            .object { object in
                object.array("sinks") { list in
                    for sink in sinks { write(sink, api, showsTopic: mayChange(call), to: &list) }
                }
            },
            on: loop
        )
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let sink = try find(api, call)
        let showsTopic = mayChange(call)
        call.respondTagged(.json { write(sink, api, showsTopic: showsTopic, to: &$0) }, on: loop)
    }

    private static func find(_ api: HTTPAPI, _ call: Call) throws(Problem) -> NotificationSink {
        guard call.caller.sessions == nil else { throw Problem(.foreignSession) }
        guard let sink = api.services.notificationPreferences.sink(call.pathID) else {
            let detail = "There is no sink of this id or name."
            throw Problem(.sinkNotFound, detail, hint: NotificationOperations.sinksHint)
        }
        return sink
    }

    private static func mayChange(_ call: Call) -> Bool { call.caller.decide(.admin) == .allowed }

    private static func write(
        _ sink: NotificationSink,
        _ api: HTTPAPI,
        secret: WebhookSecret? = nil,
        showsTopic: Bool = true,
        to writer: inout JSONWriter
    ) {
        writer.object { object in
            sink.writeMembers(to: &object, showsTopic: showsTopic)
            api.services.notificationDeliveries.health(of: sink.id).writeMembers(to: &object)
            object.member("secret", secret?.text)
        }
    }

    private static func shown(
        _ sink: NotificationSink,
        _ api: HTTPAPI,
        _ status: HTTPStatus = .ok,
        secret: WebhookSecret? = nil
    ) -> Response {
        .json(status) { write(sink, api, secret: secret, to: &$0) }
    }

    // MARK: Changing

    static func create(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        call.isBodySecret = true
        let preferences = api.services.notificationPreferences
        let body = try call.jsonObject(of: NotificationSink.fields)
        guard preferences.sinks.count < NotificationLimits.sinks else {
            throw Problem(.notificationsFull, "There may be \(NotificationLimits.sinks) sinks.")
        }
        let id = UUIDv7.make(milliseconds: loop.wallClock.milliseconds, random: SecureRandom.bytes(10))
        let secret = WebhookSecret(key: SecureRandom.bytes(WebhookSecret.bytes))
        var sink: NotificationSink
        do throws(NotificationSink.Fault) {
            sink = try NotificationSink(id: id, origin: .api, body)
        } catch {
            throw Problem(error)
        }
        if sink.kind == .webhook { sink.secret = secret }
        try check(sink, preferences)
        call.subject = id
        try await save(sink, secret: sink.secret, .created, api, call, on: loop)
    }

    static func patch(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        call.isBodySecret = true
        let preferences = api.services.notificationPreferences
        var sink = try find(api, call)
        call.subject = sink.id
        let body = try call.jsonObject(of: NotificationSink.fields.filter { $0 != "kind" })
        try call.require(shown(sink, api), "The sink is")
        let isEnabled = body["enabled"]?.bool == true
        if sink.origin == .config {
            // A configured sink that was disabled after failures can be enabled again; its other settings stand in
            // the file.
            guard isEnabled, body.count == 1 else { throw .inConfiguration }
            preferences.restart(sink, on: loop)
            return call.respondTagged(shown(sink, api), on: loop)
        }
        do throws(NotificationSink.Fault) { try sink.take(body) } catch { throw Problem(error) }
        try check(sink, preferences)
        try await save(sink, isEnabledAnew: isEnabled, secret: nil, .ok, api, call, on: loop)
    }

    static func rotate(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        var sink = try find(api, call)
        call.subject = sink.id
        guard sink.origin == .api else { throw .inConfiguration }
        guard sink.kind == .webhook else {
            throw Problem(.invalidField, "Only a webhook has a secret of Ladle's making.", field: "kind")
        }
        let secret = WebhookSecret(key: SecureRandom.bytes(WebhookSecret.bytes))
        sink.rotate(to: secret, now: loop.wallClock)
        try await save(sink, secret: secret, .ok, api, call, on: loop)
    }

    static func delete(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let sink = try find(api, call)
        call.subject = sink.id
        guard sink.origin == .api else { throw .inConfiguration }
        try call.require(shown(sink, api), "The sink is")
        do {
            try await api.services.notificationPreferences.delete(sink: sink.id, on: loop)
        } catch {
            throw .storage(error)
        }
        call.respond(Response(.noContent), on: loop)
    }

    private static func save(
        _ sink: NotificationSink,
        isEnabledAnew: Bool = false,
        secret: WebhookSecret?,
        _ status: HTTPStatus,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) async throws(Problem) {
        let hasZone: Bool
        do {
            hasZone = try await api.services.notificationPreferences.save(sink, isEnabledAnew: isEnabledAnew, on: loop)
        } catch {
            throw .storage(error)
        }
        guard hasZone else {
            let detail = "This host has no time zone `\(sink.ownQuietHours?.timeZone ?? "")`."
            throw .invalidField("quietHours", detail)
        }
        let response = shown(sink, api, status, secret: secret)
        let tag = EntityTag(ofBytes: shown(sink, api).body)
        call.respond(response.unkept.adding(.etag, tag.text), on: loop)
    }

    /// Checks that the name is unused, and that callers may send to this address.
    private static func check(_ sink: NotificationSink, _ preferences: NotificationPreferences) throws(Problem) {
        if let known = preferences.sink(sink.name), known.id != sink.id {
            throw .invalidField("name", "There is a sink of this name.")
        }
        guard let url = sink.url else { return }
        if let refusal = preferences.refusal(of: url) {
            let hint = "notifications.allowHosts in the configuration allows hosts of the own network"
            throw Problem(
                .urlNotAllowed,
                "A sink made through the API leads to a public address over https.",
                hint: hint,
                field: "url"
            ).adding(member: "reason") { $0.string(refusal.rawValue) }
        }
    }

    // MARK: Testing

    static func test(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let sink = try find(api, call)
        call.subject = sink.id
        let deliveries = api.services.notificationDeliveries
        guard !deliveries.isTesting(sink.id) else {
            throw Problem(.rateLimited, "A test of this sink is under way.", retryAfterMs: 1_000)
        }
        deliveries.test(sink, on: loop) { outcome in
            call.respond(
                .object { object in
                    object.member("sink", sink.id)
                    switch outcome {
                    case .accepted(let status):
                        object.member("ok", true)
                        object.member("status", status)
                    case .failed(let status, let error, _):
                        object.member("ok", false)
                        object.member("status", status)
                        object.member("error", error)
                    }
                },
                on: loop
            )
        }
    }
}

extension Problem {
    fileprivate static let inConfiguration = Problem(
        .sinkInConfig,
        "This sink stands in the configuration file and is changed there.",
        hint: "notifications.sinks"
    )

    fileprivate init(_ fault: NotificationSink.Fault) {
        switch fault {
        case .field(let fault): self.init(fault)
        case .url(let fault): self = .invalidField("url", fault.detail)
        case .commandFromAPI:
            self.init(
                .commandSinkInConfigOnly,
                "A sink that runs a command is made in the configuration file.",
                hint:
                    "notifications.sinks: {NAME: {kind: \"command\", command: [\"/usr/bin/notify-send\", \"--\", \"Ladle\"]}}",
                field: "kind"
            )
        }
    }
}
