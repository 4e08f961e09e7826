import Basics
import Gateway
import JSONBytes

extension SessionInfo: KeptRow {
    func writeKept(to writer: inout JSONWriter) {
        writer.object { object in
            writeMembers(to: &object)
            object.member("aborted", wasAborted)
        }
    }

    init?(kept row: JSONValue) {
        guard let text = row["key"]?.string else { return nil }
        self.init(key: SessionKey(canonical: text))
        if let kind = row["kind"]?.string.flatMap(SessionKind.init(rawValue:)) { self.kind = kind }
        label = row["label"]?.string
        title = row["title"]?.string
        titleFrom = row["titleFrom"]?.string.flatMap(TitleSource.init(rawValue:))
        preview = row["preview"]?.string
        provider = row["provider"]?.string
        model = row["model"]?.string
        thinking = row["thinking"]?.string
        thinkingLevels = row["thinkingLevels"]?.elements.compactMap(\.string) ?? []
        verbose = row["verbose"]?.string
        status = row["status"]?.string
        wasAborted = row["aborted"]?.bool ?? false
        updatedAt = row["updatedAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        sessionID = row["sessionId"]?.string
        let counts = row["tokens"]
        tokens = Tokens(
            input: counts?["input"]?.int,
            output: counts?["output"]?.int,
            total: counts?["total"]?.int,
            isFresh: counts?["fresh"]?.bool
        )
        contextTokens = row["contextTokens"]?.int
        costUSD = row["costUsd"]?.double
        isUnread = row["unread"]?.bool
        isPinned = row["pinned"]?.bool
        isArchived = row["archived"]?.bool
    }
}
