import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Notifications
import Server
import Service
import TLS

/// `GET` and `POST /v1/notifications`, retry, quiet hours and mute.
enum NotificationOperations {
    static let routes = [
        Route(
            "listNotifications",
            .get,
            "/v1/notifications",
            scope: .read,
            query: ["before", "limit", "state"],
            isPage: true,
            handler: Route.flow(list)
        ),
        Route("createNotification", .post, "/v1/notifications", scope: .send, body: Route.json, handler: create),
        Route("unmuteNotifications", .delete, "/v1/notifications/mute", scope: .admin, handler: Route.flow(unmute)),
        Route(
            "muteNotifications",
            .post,
            "/v1/notifications/mute",
            scope: .admin,
            body: Route.json,
            grantsOrLimits: true,
            handler: Route.flow(mute)
        ),
        Route("getQuietHours", .get, "/v1/notifications/quiet-hours", scope: .read, handler: getQuietHours),
        Route(
            "putQuietHours",
            .put,
            "/v1/notifications/quiet-hours",
            scope: .admin,
            body: Route.json,
            grantsOrLimits: true,
            handler: Route.flow(putQuietHours)
        ),
        Route(
            "retryNotification",
            .post,
            "/v1/notifications/{id}/retry",
            scope: .admin,
            body: .unused,
            handler: Route.flow(retry)
        ),
    ]

    private static let noteFields = ["title", "text", "priority", "sinks"]
    /// Webhook deliveries carry this header, so a request with it was caused by a notification.
    static let echoHeader = "webhook-id"

    // MARK: History

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let state: SinkDelivery.State? = try call.choice("state")
        let limit = try call.number("limit", in: 1...200, default: 50)
        let found: NotificationService.Page?
        do {
            found = try await api.services.notifications.page(
                state: state,
                sessions: call.caller.sessions,
                before: call.text("before"),
                limit: limit,
                on: loop
            )
        } catch {
            throw .storage(error)
        }
        guard let page = found else { throw .noPlace("before", "notification") }
        answer(call, page, api, on: loop)
    }

    private static func answer(
        _ call: Call,
        _ page: NotificationService.Page,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        let muted = api.services.notificationPreferences.mutedUntil.flatMap { $0 > loop.wallClock ? $0 : nil }
        call.respondTagged(
            .object { object in
                object.array("notifications") { list in
                    for (one, deliveries) in page.notifications {
                        list.object { object in
                            one.writeMembers(to: &object)
                            object.array("deliveries", of: deliveries)
                        }
                    }
                }
                object.member("mutedUntil", muted)
                if page.hasMore { object.member("before", page.notifications.last?.notification.id) }
            },
            on: loop
        )
    }

    static func retry(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let id = call.pathID
        let count: Int?
        do { count = try await api.services.notificationDeliveries.retry(id, on: loop) } catch { throw .storage(error) }
        guard let count else { throw .noNotification }
        call.respond(
            .object { object in
                object.member("id", id)
                object.member("sinks", count)
            },
            on: loop
        )
    }

    // MARK: Notes

    /// Creates a notification for a script.
    static func create(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        guard call.caller.sessions == nil else { throw Problem(.foreignSession) }
        try refuseEcho(call)
        let body = try call.jsonObject(of: noteFields)
        guard let title = body["title"]?.string?.trimmingBlanks(), !title.isEmpty else {
            throw .invalidField("title", "`title` is a text.")
        }
        let id = UUIDv7.make(milliseconds: loop.wallClock.milliseconds, random: SecureRandom.bytes(10))
        var note = Notification(
            id: id,
            type: .note,
            at: loop.wallClock,
            title: Printable.line(title),
            text: try text(body["text"])
        )
        if let priority = body["priority"], !priority.isNull {
            guard let value = priority.int, (1...5).contains(value) else {
                throw .invalidField("priority", "`priority` is a whole number from 1 to 5.")
            }
            note.priority = Int(value)
        }
        let sinks = try sinks(body["sinks"], api.services.notificationPreferences)
        call.subject = id
        api.services.notificationMaker.note(note, sinks: sinks, on: loop) { result in
            switch result {
            case .success(.made(let note, let sinks)): answer(call, note, sinks, on: loop)
            case .success(.tooMany(let wait)):
                let detail = "A script may say ten things a minute."
                call.fail(Problem(.rateLimited, detail, retryAfterMs: wait), on: loop)
            case .failure(let error): call.fail(.storage(error), on: loop)
            }
        }
    }

    /// Refuses a request that a receiver of notifications passes on: it would cause the next notification, without end.
    static func refuseEcho(_ call: Call) throws(Problem) {
        guard call.head.fields.string(for: echoHeader) == nil else {
            throw Problem(.notificationLoop, "The request was caused by a notification, so it does nothing.")
        }
    }

    private static func text(_ value: JSONValue?) throws(Problem) -> String? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.string else { throw .invalidField("text", "`text` is a text.") }
        return Printable.text(text)
    }

    private static func sinks(_ value: JSONValue?, _ preferences: NotificationPreferences) throws(Problem) -> [String]?
    {
        guard let value, !value.isNull else { return nil }
        guard value.kind == .array else { throw .invalidField("sinks", "`sinks` is a list of ids or names of sinks.") }
        var ids: [String] = []
        for element in value.elements {
            guard let name = element.string, let sink = preferences.sink(name) else {
                throw .invalidField("sinks", "There is no sink `\(element.string?.shortened ?? "")`.", hint: sinksHint)
            }
            ids.append(sink.id)
        }
        return ids
    }

    static let sinksHint = "GET /v1/notifications/sinks"

    private static func answer(_ call: Call, _ note: Notification, _ sinks: [String], on loop: isolated EventLoop) {
        call.respond(
            .object(.created) { object in
                note.writeMembers(to: &object)
                object.array("sinks", of: sinks)
            },
            on: loop
        )
    }

    // MARK: Quiet hours

    static func getQuietHours(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        guard call.caller.sessions == nil else { throw Problem(.foreignSession) }
        call.respondTagged(quietHours(api.services.notificationPreferences.quietHours), on: loop)
    }

    private static func quietHours(_ hours: QuietHours) -> Response { .json { hours.write(to: &$0) } }

    static func putQuietHours(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let preferences = api.services.notificationPreferences
        let body = try call.jsonObject(of: QuietHours.fields)
        // PUT replaces all fields: a field that is left out gets its default.
        var hours = QuietHours(timeZone: preferences.settings.timeZone)
        do throws(FormFault) { try hours.take(body) } catch { throw Problem(error) }
        try call.require(quietHours(preferences.quietHours), "The window is")
        let hasZone: Bool
        do { hasZone = try await preferences.save(hours, on: loop) } catch { throw .storage(error) }
        guard hasZone else { throw .invalidField("timeZone", "This host has no time zone `\(hours.timeZone)`.") }
        call.respondTagged(quietHours(hours), on: loop)
    }

    // MARK: Mute

    static func mute(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let body = try call.jsonObject(of: ["forSeconds"])
        let most = NotificationLimits.longestMuteSeconds
        guard let seconds = body["forSeconds"]?.int, (1...most).contains(seconds) else {
            throw .invalidField("forSeconds", "`forSeconds` is a whole number from 1 to \(most).")
        }
        let until = loop.wallClock.adding(milliseconds: seconds * 1000)
        try await mute(until: until, api, on: loop)
        call.respond(.object { $0.member("mutedUntil", until) }, on: loop)
    }

    static func unmute(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        try await mute(until: nil, api, on: loop)
        call.respond(Response(.noContent), on: loop)
    }

    private static func mute(
        until: Timestamp?,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) async throws(Problem) {
        do { try await api.services.notificationPreferences.mute(until: until, on: loop) } catch {
            throw .storage(error)
        }
    }
}

extension Problem {
    fileprivate static let noNotification = Problem(.notificationNotFound, "There is no notification of this id.")

    init(_ fault: FormFault) { self = .invalidField(fault.field, fault.detail) }
}

extension Call {
    /// A change must name the version it is meant for.
    func require(_ current: Response, _ subject: String) throws(Problem) {
        let tag = EntityTag(ofBytes: current.body)
        guard try !requiredIfMatch().matchesStrongly(tag) else { return }
        throw Problem(.preconditionFailed, "\(subject) not the version that If-Match names.", field: "If-Match")
            .adding(.etag, tag.text)
    }
}
