import Basics
package import EventLoops
import Gateway
import Ledger
import Outbox
import Runs

/// Changes of the gateway's sessions, one at a time per key: each is one flow. Before each change the gateway is asked for the session,
/// because a change to an unknown key would create one. A flow whose caller has gone goes on: its change may have been sent.
package final class SessionControl {
    /// Decides whether the session is the one the caller means.
    package typealias Condition = (SessionInfo) -> Bool

    package enum Refusal: Error {
        case gateway(GatewayFault)
        case notFound
        /// The key now belongs to another conversation.
        case moved
        case busy
        case mainSession
        case labelTaken
        /// The model does not exist; `near` is the most similar name, if there is one.
        case unknownModel(near: String?)
        /// The number of messages that wait for the session.
        case outboxNotEmpty(Int)
        /// The thinking levels that the model has.
        case noSuchThinking([String])
        case unknownAgent([String])
    }

    package struct NewSession: Sendable {
        package var agent: String?
        package var change: SessionChange
        /// The last part of the session key, if the gateway does not choose one.
        package var id: String
        /// Whether a repeat of the request yields the same id, so that an existing session of that id is the one meant.
        package var isRepeatable: Bool

        package init(agent: String?, change: SessionChange, id: String, isRepeatable: Bool) {
            self.agent = agent
            self.change = change
            self.id = id
            self.isRepeatable = isRepeatable
        }
    }

    package struct Made {
        package let info: SessionInfo
        /// Whether an earlier request made the session.
        package let isRepeat: Bool
    }

    package struct Patched {
        package let info: SessionInfo
        /// The settings that the gateway changed on its own.
        package let changed: [String]
    }

    package enum Compaction {
        case done(SessionInfo)
        /// The change takes longer; an event will report its end.
        case underWay
    }

    /// The longest time a caller waits for a compaction.
    private static let compactionWaitMs: Int64 = 2_000
    /// Room for longer keys, because the search also finds those that contain this key.
    private static let mostFound = 1_000

    private unowned let gateway: any GatewayCalls
    private let model: SessionModel
    private let service: SessionService
    private let runs: RunService
    private let outbox: OutboxService
    private let agents: AgentList
    private let models: ModelService
    private let turns = TurnQueues<SessionKey>()

    init(
        gateway: any GatewayCalls,
        model: SessionModel,
        service: SessionService,
        runs: RunService,
        outbox: OutboxService,
        agents: AgentList,
        models: ModelService
    ) {
        self.gateway = gateway
        self.model = model
        self.service = service
        self.runs = runs
        self.outbox = outbox
        self.agents = agents
        self.models = models
    }

    // MARK: Looking

    /// The session's current state at the gateway; nil if there is none with this key.
    private func find(_ key: String, on loop: isolated EventLoop) async throws(Refusal) -> SessionInfo? {
        guard gateway.isOnline else { throw .gateway(.notConnected) }
        let call = SessionsList(
            limit: Self.mostFound,
            includeDerivedTitles: true,
            includeLastMessage: true,
            search: key
        )
        do throws(CallFailure) {
            let rows = try await gateway.call(call, on: loop)
            let found = rows.first { row in row.key.map { runs.canonical($0) } == SessionKey(canonical: key) }
            return found.map { model.info($0, runs.canonical(key)) }
        } catch {
            throw .gateway(GatewayFault(error, over: gateway))
        }
    }

    /// The session that a change is meant for.
    private func find(
        _ key: String,
        if isMeant: Condition,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> SessionInfo {
        guard let info = try await find(key, on: loop) else { throw .notFound }
        guard isMeant(info) else { throw .moved }
        return info
    }

    /// Checks a model's name: gateways accept any name, and every run of the session would fail from then on. Without a
    /// list to check against, the gateway decides.
    private func check(_ model: SessionChange.Setting?, on loop: isolated EventLoop) async throws(Refusal) {
        guard let name = model?.text, models.isSupported else { return }
        guard let known = (try? await models.read(.all, on: loop))?.value, !known.isEmpty,
            !known.contains(where: { $0.answers(to: name) })
        else { return }
        throw .unknownModel(near: NearestName.of(name, in: known.map(\.id)))
    }

    private func check(_ fault: GatewayFault?) throws(Refusal) {
        if let fault { throw .gateway(fault) }
    }

    private func obstacle(to change: SessionChange, needing capability: Capability = .sessionsPatch) -> GatewayFault? {
        if let fault = gateway.obstacle(to: capability) { return fault }
        return SessionsPatch.Change(change).isLater ? gateway.obstacle(to: .sessionsArchive) : nil
    }

    /// The condition on the conversation's id, which only the newest releases take.
    private func guardID(of info: SessionInfo) -> String? {
        gateway.profile?.comparesConversations == true ? info.sessionID : nil
    }

    /// Sends a change.
    private func send<Call: GatewayCall>(
        _ call: Call,
        needing capability: Capability,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> Call.Output {
        do throws(GatewayFault) {
            return try await gateway.control(call, needing: capability, on: loop)
        } catch {
            throw Refusal(error)
        }
    }

    // MARK: Changing

    package func patch(
        _ key: String,
        _ change: SessionChange,
        if isMeant: Condition,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> Patched {
        try check(obstacle(to: change))
        let turn = SessionKey(canonical: key)
        await turns.begin(turn, on: loop)
        defer { turns.end(turn) }
        try await check(change.model, on: loop)
        let before = try await find(key, if: isMeant, on: loop)
        // Another model may have other levels.
        if let level = change.thinking?.text, change.model == nil, !before.thinkingLevels.isEmpty,
            !before.thinkingLevels.contains(level)
        {
            throw .noSuchThinking(before.thinkingLevels)
        }
        let call = SessionsPatch(
            key: before.key,
            change: SessionsPatch.Change(change),
            expectedSessionId: guardID(of: before)
        )
        let changed = try await send(call, needing: .sessionsPatch, on: loop)
        if let changed, let meant = before.sessionID, changed != meant { throw .moved }
        let after = try await find(before.key, if: { $0.sessionID == before.sessionID }, on: loop)
        service.patched(after, on: loop)
        return Patched(info: after, changed: change.others(from: before, to: after))
    }

    package func create(_ new: NewSession, on loop: isolated EventLoop) async throws(Refusal) -> Made {
        try check(gateway.obstacle(to: .sessionsCreate) ?? obstacle(to: new.change, needing: .sessionsCreate))
        let agent = new.agent ?? runs.defaults.agent
        if let known = await loop.wait(for: { agents.missing(agent, on: loop, completion: $0) }) {
            throw .unknownAgent(known)
        }
        let key = "agent:\(agent):ladle:\(new.id)"
        let turn = SessionKey(canonical: key)
        await turns.begin(turn, on: loop)
        defer { turns.end(turn) }
        try await check(new.change.model, on: loop)
        if new.isRepeatable, let found = try await find(key, on: loop) { return Made(info: found, isRepeat: true) }
        let made = try await make(agent, key, new, on: loop)
        let info = (try? await find(made, on: loop)) ?? model.info(named: runs.canonical(made))
        service.created(info, on: loop)
        return Made(info: info, isRepeat: false)
    }

    /// - Returns: the new session's key.
    private func make(
        _ agent: String,
        _ key: String,
        _ new: NewSession,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> String {
        var (key, rest) = (key, new.change)
        if gateway.profile?.createsSessions == true {
            let call = SessionsCreate(
                key: new.isRepeatable ? key : nil,
                agentId: agent,
                label: rest.label?.text,
                model: rest.model?.text
            )
            key = runs.canonical(try await send(call, needing: .sessionsCreate, on: loop)).text
            (rest.label, rest.model) = (nil, nil)
            guard rest != SessionChange() else { return key }
        }
        // The settings that the creating call does not take; in the oldest releases this also creates the session.
        let call = SessionsPatch(key: key, change: SessionsPatch.Change(rest))
        _ = try await send(call, needing: .sessionsPatch, on: loop)
        return key
    }

    package func reset(
        _ key: String,
        if isMeant: Condition,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> SessionInfo {
        try check(gateway.obstacle(to: .sessionsReset))
        let turn = SessionKey(canonical: key)
        await turns.begin(turn, on: loop)
        defer { turns.end(turn) }
        _ = try await find(key, if: isMeant, on: loop)
        let conversation = try await send(SessionsReset(key: key), needing: .sessionsReset, on: loop)
        let after = try await find(key, if: { _ in true }, on: loop)
        service.reset(after, conversation ?? after.sessionID, on: loop)
        return after
    }

    /// - Parameter isForced: delete even if messages in the outbox wait for the session.
    package func delete(
        _ key: String,
        keepsTranscript: Bool,
        isForced: Bool,
        if isMeant: Condition,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> SessionInfo {
        try check(gateway.obstacle(to: .sessionsDelete))
        guard key != runs.defaults.mainSession.text else { throw .mainSession }
        let turn = SessionKey(canonical: key)
        await turns.begin(turn, on: loop)
        defer { turns.end(turn) }
        let before = try await find(key, if: isMeant, on: loop)
        let waiting = outbox.summary(of: [key], now: loop.wallClock).counts.pending
        guard isForced || waiting == 0 else { throw .outboxNotEmpty(waiting) }
        let call = SessionsDelete(
            key: before.key,
            deletesTranscript: !keepsTranscript,
            expectedSessionId: guardID(of: before)
        )
        guard try await send(call, needing: .sessionsDelete, on: loop) else { throw .notFound }
        // Cancelled before the other services learn of it, since they would hold the messages back for a decision.
        if isForced { outbox.cancelAll(of: before.key, on: loop) }
        service.deleted(before, on: loop)
        return before
    }

    package func compact(
        _ key: String,
        if isMeant: @escaping Condition,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> Compaction {
        try check(gateway.obstacle(to: .sessionsCompact))
        let result = await loop.within(milliseconds: Self.compactionWaitMs) { [self] in
            await compacted(key, if: isMeant, on: loop)
        }
        return try result.map { result throws(Refusal) in .done(try result.get()) } ?? .underWay
    }

    private func compacted(
        _ key: String,
        if isMeant: Condition,
        on loop: isolated EventLoop
    ) async -> Result<SessionInfo, Refusal> {
        let turn = SessionKey(canonical: key)
        await turns.begin(turn, on: loop)
        defer { turns.end(turn) }
        do throws(Refusal) {
            _ = try await find(key, if: isMeant, on: loop)
            _ = try await send(SessionsCompact(key: key), needing: .sessionsCompact, on: loop)
            let after = try await find(key, if: { _ in true }, on: loop)
            service.compacted(after, on: loop)
            return .success(after)
        } catch {
            return .failure(error)
        }
    }
}

extension SessionControl.Refusal {
    init(_ fault: GatewayFault) {
        guard case .refused(let refusal) = fault, let reason = refusal.session else {
            self = .gateway(fault)
            return
        }
        switch reason {
        case .labelTaken: self = .labelTaken
        case .unknownModel: self = .unknownModel(near: nil)
        case .mainSession: self = .mainSession
        case .busy: self = .busy
        case .moved: self = .moved
        }
    }
}
