import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// `PATCH`, `DELETE`, `reset` and `compact` of a session.
enum SessionChanges {
    private static let settings = ["label", "model", "thinking", "verbose", "unread", "pinned", "archived"]
    /// The gateway's own limit of a text.
    private static let longestText = 512

    // MARK: Requests

    static func patch(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let key = try call.session(api)
        let body = try call.jsonObject(of: settings)
        let change = try change(body, mayClear: true)
        guard change != SessionChange() else {
            throw .invalidField("body", "It names none of \(settings.joined(separator: ", ")).")
        }
        let condition = try call.requiredIfMatch()
        do throws(SessionControl.Refusal) {
            let control = api.services.sessionControl
            let patched = try await control.patch(key, change, if: condition.matches, on: loop)
            call.answer(patched.info, api, changed: patched.changed, on: loop)
        } catch {
            throw Problem(error, doing: "change the session", for: call, api, on: loop)
        }
    }

    static func delete(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let key = try call.session(api)
        let isForced = try call.flag("force")
        let transcript = call.text("transcript")
        guard transcript == nil || transcript == "keep" else {
            throw .badParameter("transcript", "`transcript` is keep, or not there.")
        }
        let condition = try call.requiredIfMatch()
        do throws(SessionControl.Refusal) {
            let deleted = try await api.services.sessionControl.delete(
                key,
                keepsTranscript: transcript != nil,
                isForced: isForced,
                if: condition.matches,
                on: loop
            )
            call.answer(deleted, api, on: loop)
        } catch {
            throw Problem(error, doing: "delete the session", for: call, api, on: loop)
        }
    }

    static func reset(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let key = try call.session(api)
        let condition = try call.requiredIfMatch()
        do throws(SessionControl.Refusal) {
            let info = try await api.services.sessionControl.reset(key, if: condition.matches, on: loop)
            call.answer(info, api, on: loop)
        } catch {
            throw Problem(error, doing: "reset the session", once: key, for: call, api, on: loop)
        }
    }

    static func compact(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let key = try call.session(api)
        let condition = try call.requiredIfMatch()
        do throws(SessionControl.Refusal) {
            switch try await api.services.sessionControl.compact(key, if: condition.matches, on: loop) {
            case .done(let info): call.answer(info, api, on: loop)
            case .underWay:
                let response = Response.object(.accepted) { object in
                    object.member("session", key)
                    object.member("state", "running")
                }
                call.respond(response.adding(.location, "/v1/sessions/\(PercentCoding.encode(key))"), on: loop)
            }
        } catch {
            throw Problem(error, doing: "compact the session", once: key, for: call, api, on: loop)
        }
    }

    static func path(_ info: SessionInfo) -> String { "/v1/sessions/\(PercentCoding.encode(info.key))" }

    // MARK: Bodies

    static func change(_ body: JSONValue, mayClear: Bool) throws(Problem) -> SessionChange {
        var change = SessionChange()
        change.label = try setting("label", in: body, mayClear)
        change.model = try setting("model", in: body, mayClear)
        change.thinking = try setting("thinking", in: body, mayClear)
        change.verbose = try setting("verbose", in: body, mayClear)
        change.unread = try flag("unread", in: body)
        change.pinned = try flag("pinned", in: body)
        change.archived = try flag("archived", in: body)
        return change
    }

    private static func setting(
        _ name: String,
        in body: JSONValue,
        _ mayClear: Bool
    ) throws(Problem) -> SessionChange.Setting? {
        guard let value = body[name] else { return nil }
        if value.isNull, mayClear { return .clear }
        return try text(name, in: body).map { .set($0) }
    }

    static func text(_ name: String, in body: JSONValue?) throws(Problem) -> String? {
        guard let value = body?[name], !value.isNull else { return nil }
        guard let text = value.string, !text.trimmingBlanks().isEmpty, text.utf16.count <= longestText else {
            throw .invalidField(name, "`\(name)` is a text of 1 to \(longestText) characters.")
        }
        return text
    }

    private static func flag(_ name: String, in body: JSONValue) throws(Problem) -> Bool? {
        guard let value = body[name] else { return nil }
        guard let flag = value.bool else { throw .invalidField(name, "`\(name)` is true or false.") }
        return flag
    }
}

extension Problem {
    /// A refusal of a request whose repeat might do more than the first try.
    fileprivate init(
        _ refusal: SessionControl.Refusal,
        doing action: String,
        once key: String,
        for call: Call,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        let hint = "GET /v1/sessions/\(PercentCoding.encode(key))?refresh=true shows how it stands"
        self.init(refusal, doing: action, isRepeatable: false, hint: hint, for: call, api, on: loop)
    }

    init(
        _ refusal: SessionControl.Refusal,
        doing action: String,
        isRepeatable: Bool = true,
        hint: String? = nil,
        for call: Call,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        switch refusal {
        case .gateway(let fault):
            let wait = call.untilNextTry(api, on: loop)
            self.init(fault, changing: action, isRepeatable: isRepeatable, hint: hint, retryAfterMs: wait)
        case .notFound: self = .noSession
        case .moved:
            let detail = "The key leads to another conversation than the one that was meant."
            self.init(.sessionMoved, detail, field: "If-Match")
        case .busy: self.init(.sessionBusy, "A run of the session has not ended yet. Nothing was changed.")
        case .mainSession:
            self.init(.mainSession, "The main session of an agent cannot be deleted; it can be reset.")
        case .labelTaken: self.init(.labelTaken, "Another session has this label.", field: "label")
        case .unknownModel(let near):
            let detail = "The gateway does not know this model, or the agent may not use it."
            let hint = near.map { "did you mean `\($0)`? GET /v1/models lists all" } ?? "GET /v1/models"
            self.init(.unknownModel, detail, hint: hint, field: "model")
        case .outboxNotEmpty(let count):
            self.init(
                .outboxNotEmpty,
                "\(count) \(count == 1 ? "message waits" : "messages wait") in the outbox for this session.",
                hint: "?force=true takes them back and deletes it"
            )
        case .noSuchThinking(let levels):
            let detail = "`thinking` is one of \(levels.joined(separator: ", ")) with this model."
            self = .invalidField("thinking", detail)
        case .unknownAgent(let known):
            let agents = known.joined(separator: ", ")
            self = .invalidField("agent", "There is no such agent. The gateway's agents: \(agents).")
        }
    }
}
