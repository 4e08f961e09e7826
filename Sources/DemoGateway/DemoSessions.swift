/// The sessions by canonical key, `sessions.list`, and the events about sessions.
final class DemoSessions {
    /// The most sessions and rows, so that a demo that runs for weeks does not grow.
    private static let limit = 1_000
    private static let rowLimit = 5_000
    /// The time that a model takes to write the summary.
    private static let compactionMs = 1_800

    let mainKey: String
    private let release: DemoRelease
    private let clock: DemoClock
    private let primitives: DemoPrimitives
    private let connections: DemoConnections
    private var sessions: [String: DemoSession]

    init(
        _ options: DemoGatewayOptions,
        _ clock: DemoClock,
        _ primitives: DemoPrimitives,
        _ connections: DemoConnections,
        kept: [String: DemoSession]
    ) {
        mainKey = options.mainKey
        release = options.release
        self.clock = clock
        self.primitives = primitives
        self.connections = connections
        sessions = kept
        _ = make(mainSessionKey)
    }

    var mainSessionKey: String { "agent:main:\(mainKey)" }
    var count: Int { sessions.count }
    var all: [String: DemoSession] { sessions }

    func canonical(_ key: String) -> String? { DemoSessionKey.canonical(key, mainKey: mainKey) }

    subscript(canonical: String) -> DemoSession? { sessions[canonical] }

    /// The session of a canonical key, created if there is none; the session that was idle longest makes room for it.
    func make(_ canonical: String, for client: String? = nil) -> DemoSession {
        if let found = sessions[canonical] {
            found.displayName = found.displayName ?? client
            return found
        }
        if sessions.count >= Self.limit {
            let idle = sessions.values.filter { !$0.isActive && $0.key != mainSessionKey }
            if let oldest = idle.min(by: { $0.updatedAt < $1.updatedAt }) { sessions[oldest.key] = nil }
        }
        let made = DemoSession(
            key: canonical,
            sessionID: primitives.uuid(),
            displayName: client,
            now: clock.wallMs
        )
        sessions[canonical] = made
        return made
    }

    /// Forgets a session's transcript without an event.
    func startOver(_ session: DemoSession) {
        session.reset(sessionID: primitives.uuid(), now: clock.wallMs)
        session.status = "done"
    }

    func reset(_ session: DemoSession) {
        session.reset(sessionID: primitives.uuid(), now: clock.wallMs)
        announceChange(of: session, reason: "reset")
    }

    // MARK: - Transcripts

    var style: TranscriptStyle {
        TranscriptStyle(release: release, characterLimit: release.historyCharacterLimit)
    }

    func row(_ kind: DemoRow.Kind, _ blocks: [DemoRow.Block]) -> DemoRow {
        row(kind, blocks, at: clock.wallMs)
    }

    func row(_ kind: DemoRow.Kind, _ blocks: [DemoRow.Block], at time: Int64) -> DemoRow {
        DemoRow(id: primitives.shortID(), kind: kind, blocks: blocks, timestamp: time, recordedAt: time)
    }

    /// Writes a row and sends it to subscribers.
    func append(_ row: DemoRow, to session: DemoSession) {
        restore(row, to: session)
        session.updatedAt = clock.wallMs
        announce(row, at: session.rows.count, in: session)
    }

    /// Adds a row without an event.
    func restore(_ row: DemoRow, to session: DemoSession) {
        session.append(row, limit: Self.rowLimit)
    }

    /// Sends subscribers a row with its position in the transcript; results of tools and compactions are not sent.
    func announce(_ row: DemoRow, at seq: Int, in session: DemoSession) {
        switch row.kind {
        case .toolResult, .compaction: return
        case .user, .assistant, .injected, .failedRun: break
        }
        announceMessage(style.wire(row, seq: seq, isEvent: true), id: row.id, at: seq, in: session)
    }

    /// Sends subscribers an accepted message that is not in a transcript yet.
    func announceAccepted(_ row: DemoRow, in session: DemoSession) {
        let seq = session.rows.count
        let message: WireValue = [
            "role": row.role, "content": row.plainText, "timestamp": row.timestamp,
            "__openclaw": wireObject(["seq": seq]),
        ]
        announceMessage(message, id: nil, at: seq, in: session)
    }

    private func announceMessage(_ message: WireValue, id: String?, at seq: Int, in session: DemoSession) {
        guard release.hasSubscriptions else { return }
        let place: WireValue = ["messageId": id, "messageSeq": seq, "session": session.row(release)]
        let head = head(session)
        let tail = summary(of: session)
        connections.send(
            "session.message",
            head.adding(["message": message]).adding(place).adding(tail),
            to: connections.subscribers
        )
        guard release == .april else { return }
        let change: WireValue = ["phase": "message", "ts": clock.wallMs]
        connections.send(
            "sessions.changed",
            head.adding(change).adding(place).adding(tail),
            to: connections.subscribers
        )
    }

    /// Announces that a run has begun or ended.
    func announceChange(of session: DemoSession, phase: String, runID: String) {
        guard release.hasSubscriptions else { return }
        let change: WireValue = [
            "phase": phase, "reason": release.namesRuns && phase == "start" ? "agent.run.started" : nil,
            "runId": runID, "ts": clock.wallMs, "session": session.row(release),
        ]
        connections.send(
            "sessions.changed",
            head(session).adding(change).adding(summary(of: session)),
            to: connections.subscribers
        )
    }

    /// Announces another change of a session.
    func announceChange(of session: DemoSession, reason: String) {
        guard release.hasSubscriptions else { return }
        let change: WireValue = [
            "reason": reason, "ts": clock.wallMs, "session": release.namesRuns ? session.row(release) : nil,
        ]
        let later: WireValue =
            release >= .june ? DemoSession.fastMode.adding(["hasActiveRun": session.isActive]) : [:]
        connections.send(
            "sessions.changed",
            head(session).adding(change).adding(summary(of: session)).adding(later),
            to: connections.subscribers
        )
    }

    private func head(_ session: DemoSession) -> WireValue {
        ["sessionKey": session.key, "agentId": release >= .june ? session.agentID : nil]
    }

    private func summary(of session: DemoSession) -> WireValue {
        session.summary(release).adding(release >= .june ? ["goal": WireValue.null] : [:])
    }

    // MARK: - Methods

    /// Whether a compaction only cuts lines from the transcript.
    var cutsLines: Bool { release == .march }
    var compactionMs: Int { clock.paced(Self.compactionMs) }
    func newID() -> String { primitives.uuid() }

    func delete(_ canonical: String, expected: String?) -> DemoReply {
        guard let session = sessions[canonical] else {
            return .ok(["ok": true, "key": canonical, "deleted": false, "archived": WireValue.array([])])
        }
        if let expected, expected != session.sessionID {
            return .invalid("expectedSessionId does not match the session")
        }
        sessions[canonical] = nil
        if release.hasSubscriptions {
            connections.send(
                "sessions.changed",
                ["sessionKey": canonical, "reason": "delete", "ts": clock.wallMs],
                to: connections.subscribers
            )
        }
        return .ok(["ok": true, "key": canonical, "deleted": true, "archived": WireValue.array([])])
    }

    var modelDefaults: WireValue {
        let base: WireValue = ["modelProvider": "demo", "model": "demo-1", "contextTokens": 200_000]
        return release >= .april ? base.adding(DemoSession.thinkingChoices) : base
    }

    func subscribe(_ request: DemoRequest) -> DemoReply {
        request.connection.subscribesToSessions = true
        return .ok(["subscribed": true])
    }

    /// Whether a certain run was the session's last one, and how it ended.
    func status(_ request: DemoRequest) -> DemoReply {
        let expected = request.string("sessionId")
        let run = request.string("expectedRunId")
        if run != nil, expected == nil { return .invalid("expectedRunId requires sessionId") }
        guard let session = request.string("key").flatMap({ canonical($0) }).flatMap({ sessions[$0] }),
            expected == nil || expected == session.sessionID
        else { return .ok(["observedAt": clock.wallMs, "session": WireValue.null]) }
        let isMatch = run != nil && run == session.lastRunID && !session.isActive
        let matched: WireValue = ["runId": run, "status": session.status, "endedAt": session.endedAt]
        let row: WireValue = [
            "key": session.key, "agentId": session.agentID, "sessionId": session.sessionID, "status": session.status,
            "hasActiveRun": session.isActive, "updatedAt": session.updatedAt,
            "matchedRun": isMatch ? matched : WireValue.null,
        ]
        return .ok(["observedAt": clock.wallMs, "session": row])
    }

    func list(_ request: DemoRequest) -> DemoReply {
        let now = clock.wallMs
        var found = sessions.values.sorted { ($0.updatedAt, $1.key) > ($1.updatedAt, $0.key) }
        if let agentID = request.string("agentId") { found = found.filter { $0.agentID == agentID } }
        if let minutes = request.int("activeMinutes") {
            let (span, isOver) = minutes.multipliedReportingOverflow(by: 60_000)
            found = found.filter { isOver || $0.updatedAt >= now - min(span, now) }
        }
        if let search = request.string("search")?.lowercased(), !search.isEmpty {
            found = found.filter { session in
                [session.key, session.label, session.displayName].contains {
                    $0?.lowercased().contains(search) ?? false
                }
            }
        }
        if let label = request.string("label") { found = found.filter { $0.label == label } }
        let total = found.count
        let offset = min(Int(clamping: request.int("offset") ?? 0), total)
        let limit = Int(clamping: request.int("limit") ?? (release >= .june ? 100 : Int64(Self.limit)))
        let rows = found.dropFirst(offset).prefix(limit).map { session -> WireValue in
            let last = session.rows.last { $0.role == "assistant" }?.plainText
            return session.row(release).adding([
                "derivedTitle": request.bool("includeDerivedTitles") == true
                    ? DerivedTitle.of(session, release) : nil,
                "lastMessagePreview": request.bool("includeLastMessage") == true
                    ? last.map { String($0.prefix(200)) } : nil,
            ])
        }
        let end = offset + rows.count
        let result: WireValue = [
            "ts": now, "path": "(multiple)", "count": rows.count, "defaults": modelDefaults, "sessions": rows,
        ]
        guard release >= .june else { return .ok(result) }
        let next = end < total ? WireValue.int(Int64(end)) : .null
        let page: WireValue = [
            "totalCount": total, "limitApplied": limit, "nextOffset": next, "hasMore": end < total,
        ]
        return .ok(result.adding(page))
    }
}
