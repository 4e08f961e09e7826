import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// `POST /v1/wake`: a line for the agent, delivered at its next turn or at once. The run cannot be followed, and the
/// gateway cannot recognize a repeat, so the line never waits in the outbox.
enum WakeOperation {
    /// In UTF-16 units, as the gateway counts.
    private static let longestText = 4_000

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        try NotificationOperations.refuseEcho(call)
        let body = try call.jsonObject(of: ["mode", "session", "text"])
        guard let text = body["text"]?.string, !text.trimmingBlanks().isEmpty,
            text.utf16.count <= longestText, !text.utf8.contains(0)
        else { throw .invalidField("text", "`text` is a text of 1 to \(longestText) characters.") }
        let mode = try mode(in: body)
        let session = try session(in: body, api)
        try api.access.admitSend(call.exchange, by: call.caller, to: session, on: loop)
        call.subject = session
        let automations = api.services.automations
        let response = try await OnceOnly.perform(api, call, meaning: "", isKeyRequired: false, on: loop) {
            do throws(GatewayFault) {
                try await automations.wake(text, mode: mode, session: session, on: loop)
                return .done(answer(mode, session))
            } catch {
                let problem = Problem(
                    error,
                    changing: "wake the agent",
                    isRepeatable: false,
                    hint: nil,
                    retryAfterMs: call.untilNextTry(api, on: loop)
                )
                return .failed(problem, isKept: error.mayHaveActed)
            }
        }
        call.respond(response, on: loop)
    }

    private static func mode(in body: JSONValue) throws(Problem) -> WakeMode {
        guard let value = body["mode"], !value.isNull else { return .now }
        guard let mode = value.string.flatMap({ WakeMode(rawValue: $0) }) else {
            let names = WakeMode.allCases.map(\.rawValue).joined(separator: " or ")
            throw .invalidField("mode", "`mode` is \(names).")
        }
        return mode
    }

    private static func session(in body: JSONValue, _ api: HTTPAPI) throws(Problem) -> String {
        let named = body["session"].flatMap { $0.isNull ? nil : $0 }
        let key: String
        do throws(Problem) {
            // A number is no key, and neither is nothing.
            key = try api.runs.session(named: named.map { $0.string ?? "" } ?? "main", "session")
        } catch {
            throw .invalidField("session", error.detail, hint: error.hint)
        }
        try api.checkMayBegin(key, "session")
        return key
    }

    private static func answer(_ mode: WakeMode, _ session: String) -> Response {
        .object(.accepted) { object in
            object.member("session", session)
            object.member("mode", mode.rawValue)
        }
    }
}
