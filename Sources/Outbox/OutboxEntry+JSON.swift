package import JSONBytes

extension OutboxEntry {
    /// The entry as the API shows it. `blockedReason` is the same for all waiting entries of a session, so it is not stored;
    /// `attempts` is only included for a single entry.
    package func write(
        to writer: inout JSONWriter,
        blockedReason: String? = nil,
        attempts: [OutboxAttempt]? = nil
    ) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("kind", kind.rawValue)
            writer.member("session", session)
            writer.member("text", text)
            writer.member("state", state.rawValue)
            writer.member("createdAt", createdAt)
            writer.member("updatedAt", updatedAt)
            writer.member("attemptCount", attemptCount)
            writer.member("nextAttemptAt", nextAttemptAt)
            writer.member("notBefore", notBefore)
            writer.member("expiresAt", expiresAt)
            writer.member("runId", runID)
            writer.member("proof", proof?.rawValue)
            if state.isWaiting { writer.member("blockedReason", blockedReason) }
            writer.member("error", fault)
            if fault?.mayReturn == true { writer.member("mayReturn", true) }
            writer.member("version", version)
            if let attempts { writer.array("attempts", of: attempts) }
        }
    }
}

extension OutboxEntry: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        write(to: &writer, blockedReason: nil, attempts: nil)
    }
}
