import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Notifications
import Server
import Service
import TLS

/// `/v1/notifications/rules`: choose which events become notifications. The first matching rule takes a sink; the
/// standard rule comes last.
enum RuleOperations {
    static let routes = [
        Route("listNotificationRules", .get, "/v1/notifications/rules", scope: .read, handler: list),
        Route(
            "createNotificationRule",
            .post,
            "/v1/notifications/rules",
            scope: .admin,
            body: Route.json,
            grantsOrLimits: true,
            handler: Route.flow(create)
        ),
        Route(
            "deleteNotificationRule",
            .delete,
            "/v1/notifications/rules/{id}",
            scope: .admin,
            handler: Route.flow(delete)
        ),
        Route("getNotificationRule", .get, "/v1/notifications/rules/{id}", scope: .read, handler: get),
        Route(
            "patchNotificationRule",
            .patch,
            "/v1/notifications/rules/{id}",
            scope: .admin,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            handler: Route.flow(patch)
        ),
    ]

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        guard call.caller.sessions == nil else { throw Problem(.foreignSession) }
        let rules = api.services.notificationPreferences.rules
        call.respondTagged(.object { $0.array("rules", of: rules) }, on: loop)
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        call.respondTagged(.json(.ok, try find(api, call)), on: loop)
    }

    private static func find(_ api: HTTPAPI, _ call: Call) throws(Problem) -> NotificationRule {
        guard call.caller.sessions == nil else { throw Problem(.foreignSession) }
        guard let rule = api.services.notificationPreferences.rule(call.pathID) else {
            throw Problem(.ruleNotFound, "There is no rule of this id.", hint: "GET /v1/notifications/rules")
        }
        return rule
    }

    static func create(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let preferences = api.services.notificationPreferences
        let body = try call.jsonObject(of: NotificationRule.fields)
        guard preferences.rules.count < NotificationLimits.rules else {
            throw Problem(.notificationsFull, "There may be \(NotificationLimits.rules) rules.")
        }
        let id = UUIDv7.make(milliseconds: loop.wallClock.milliseconds, random: SecureRandom.bytes(10))
        var rule = NotificationRule(id: id, name: "", types: [])
        try take(body, into: &rule, preferences)
        call.subject = id
        try await save(rule, .created, api, call, on: loop)
    }

    static func patch(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        var rule = try find(api, call)
        let body = try call.jsonObject(of: NotificationRule.fields)
        try call.require(.json(.ok, rule), "The rule is")
        try take(body, into: &rule, api.services.notificationPreferences)
        try await save(rule, .ok, api, call, on: loop)
    }

    private static func take(
        _ body: JSONValue,
        into rule: inout NotificationRule,
        _ preferences: NotificationPreferences
    ) throws(Problem) {
        do throws(FormFault) { try rule.take(body) } catch { throw Problem(error) }
        // Sinks deleted since are an error only in a list that names them again.
        guard body["sinks"] != nil else { return }
        var ids: [String] = []
        for name in rule.sinks {
            guard let sink = preferences.sink(name) else {
                let detail = "There is no sink `\(name)`."
                throw .invalidField("sinks", detail, hint: NotificationOperations.sinksHint)
            }
            ids.append(sink.id)
        }
        rule.sinks = ids
    }

    private static func save(
        _ rule: NotificationRule,
        _ status: HTTPStatus,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) async throws(Problem) {
        do { try await api.services.notificationPreferences.save(rule, on: loop) } catch { throw .storage(error) }
        let response = Response.json(status, rule)
        call.respond(response.adding(.etag, EntityTag(ofBytes: response.body).text), on: loop)
    }

    static func delete(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let rule = try find(api, call)
        guard rule.id != NotificationRule.standardID else {
            let hint = "PATCH /v1/notifications/rules/standard with {\"enabled\":false}"
            throw .invalidField("id", "The standard rule can be switched off, not deleted.", hint: hint)
        }
        try call.require(.json(.ok, rule), "The rule is")
        do {
            try await api.services.notificationPreferences.delete(rule: rule.id, on: loop)
        } catch {
            throw .storage(error)
        }
        call.respond(Response(.noContent), on: loop)
    }
}

extension NotificationRule: JSONWritable {}
