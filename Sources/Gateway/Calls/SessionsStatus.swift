package import JSONBytes

/// Asks how one run of a session ended. The gateway keeps that on its disk, for the session's last run only.
package struct SessionsStatus: GatewayCall {
    package enum Output: Sendable, Equatable {
        case ended(ChatHistory.RunEnd)
        /// Another run is at work or was the session's last; or the session has another conversation by now.
        case other
    }

    package static let method = "sessions.status"
    package var key: String
    package var conversation: String
    package var run: String

    package init(key: String, conversation: String, run: String) {
        self.key = key
        self.conversation = conversation
        self.run = run
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("key", key)
        writer.member("sessionId", conversation)
        writer.member("expectedRunId", run)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        guard let session = payload["session"] else { throw GatewayShapeError(method: method, missing: "session") }
        guard let matched = session["matchedRun"], let end = ChatHistory.RunEnd(status: matched["status"]?.string)
        else { return .other }
        return .ended(end)
    }
}
