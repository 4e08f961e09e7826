import Basics
package import EventLoops
import Gateway
import Ledger
import Outbox
import Runs

/// Changes of the gateway's sessions, one at a time per key. Before each change the gateway is asked for the session,
/// because a change to an unknown key would create one.
package final class SessionControl {
    /// Decides whether the session is the one the caller means.
    package typealias Condition = (SessionInfo) -> Bool
    package typealias Completion<Value> = (Result<Value, Refusal>) -> Void

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
    private let lists: GatewayLists
    private let models: ModelService
    private let turns = TurnQueues<SessionKey>()

    init(
        gateway: any GatewayCalls,
        model: SessionModel,
        service: SessionService,
        runs: RunService,
        outbox: OutboxService,
        lists: GatewayLists,
        models: ModelService
    ) {
        self.gateway = gateway
        self.model = model
        self.service = service
        self.runs = runs
        self.outbox = outbox
        self.lists = lists
        self.models = models
    }

    // MARK: Looking

    /// The session's current state at the gateway; nil if there is none with this key.
    package func find(
        _ key: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<SessionInfo?, GatewayFault>) -> Void
    ) {
        guard gateway.isOnline else { return completion(.failure(.notConnected)) }
        let call = SessionsList(
            limit: Self.mostFound,
            includeDerivedTitles: true,
            includeLastMessage: true,
            search: key
        )
        gateway.call(call, on: loop) { (result: Result<[SessionRow], CallFailure>) in
            switch result {
            case .failure(let failure): completion(.failure(GatewayFault(failure, over: self.gateway)))
            case .success(let rows):
                let found = rows.first { row in row.key.map { self.runs.canonical($0) } == SessionKey(canonical: key) }
                completion(.success(found.map { self.model.info($0, self.runs.canonical(key)) }))
            }
        }
    }

    // MARK: Changing

    package func patch(
        _ key: String,
        _ change: SessionChange,
        if isMeant: @escaping Condition,
        on loop: isolated EventLoop,
        completion: @escaping Completion<Patched>
    ) {
        if let fault = obstacle(to: change) { return completion(.failure(.gateway(fault))) }
        inTurn(key, completion) { finish in
            self.check(change.model, finish, on: loop) {
                self.check(key, if: isMeant, finish, on: loop) { before in
                    self.patch(before, change, on: loop, finish)
                }
            }
        }
    }

    private func patch(
        _ before: SessionInfo,
        _ change: SessionChange,
        on loop: isolated EventLoop,
        _ finish: @escaping Completion<Patched>
    ) {
        // Another model may have other levels.
        if let level = change.thinking?.text, change.model == nil, !before.thinkingLevels.isEmpty,
            !before.thinkingLevels.contains(level)
        {
            return finish(.failure(.noSuchThinking(before.thinkingLevels)))
        }
        let call = SessionsPatch(
            key: before.key,
            change: SessionsPatch.Change(change),
            expectedSessionId: guardID(of: before)
        )
        gateway.control(call, needing: .sessionsPatch, on: loop) { (result: Result<String?, GatewayFault>) in
            switch result {
            case .failure(let fault): finish(.failure(Refusal(fault)))
            case .success(let id): self.patched(before, change, by: id, on: loop, finish)
            }
        }
    }

    /// - Parameter id: the conversation that the gateway changed.
    private func patched(
        _ before: SessionInfo,
        _ change: SessionChange,
        by id: String?,
        on loop: isolated EventLoop,
        _ finish: @escaping Completion<Patched>
    ) {
        if let id, let meant = before.sessionID, id != meant { return finish(.failure(.moved)) }
        reread(before.key, finish, on: loop) { after in
            guard after.sessionID == before.sessionID else { return finish(.failure(.moved)) }
            self.service.patched(after, on: loop)
            finish(.success(Patched(info: after, changed: change.others(from: before, to: after))))
        }
    }

    package func create(_ new: NewSession, on loop: isolated EventLoop, completion: @escaping Completion<Made>) {
        if let fault = gateway.obstacle(to: .sessionsCreate) ?? obstacle(to: new.change, needing: .sessionsCreate) {
            return completion(.failure(.gateway(fault)))
        }
        let agent = new.agent ?? runs.defaults.agent
        let key = "agent:\(agent):ladle:\(new.id)"
        lists.missing(agent: agent, on: loop) { known in
            if let known { return completion(.failure(.unknownAgent(known))) }
            self.inTurn(key, completion) { finish in
                self.check(new.change.model, finish, on: loop) {
                    guard new.isRepeatable else { return self.make(agent, key, new, on: loop, finish) }
                    self.find(key, on: loop) { result in
                        switch result {
                        case .failure(let fault): finish(.failure(.gateway(fault)))
                        case .success(let found?): finish(.success(Made(info: found, isRepeat: true)))
                        case .success(nil): self.make(agent, key, new, on: loop, finish)
                        }
                    }
                }
            }
        }
    }

    private func make(
        _ agent: String,
        _ key: String,
        _ new: NewSession,
        on loop: isolated EventLoop,
        _ completion: @escaping Completion<Made>
    ) {
        let change = new.change
        guard gateway.profile?.createsSessions ?? false else {
            return complete(key, change, on: loop, completion)
        }
        let call = SessionsCreate(
            key: new.isRepeatable ? key : nil,
            agentId: agent,
            label: change.label?.text,
            model: change.model?.text
        )
        gateway.control(call, needing: .sessionsCreate, on: loop) { (result: Result<String, GatewayFault>) in
            switch result {
            case .failure(let fault): completion(.failure(Refusal(fault)))
            case .success(let written):
                let key = self.runs.canonical(written).text
                var rest = change
                (rest.label, rest.model) = (nil, nil)
                if rest == SessionChange() {
                    self.made(key, on: loop, completion)
                } else {
                    self.complete(key, rest, on: loop, completion)
                }
            }
        }
    }

    /// Sets the settings that the creating call does not take; in the oldest releases this also creates the session.
    private func complete(
        _ key: String,
        _ change: SessionChange,
        on loop: isolated EventLoop,
        _ completion: @escaping Completion<Made>
    ) {
        let call = SessionsPatch(key: key, change: SessionsPatch.Change(change))
        gateway.control(call, needing: .sessionsPatch, on: loop) { (result: Result<String?, GatewayFault>) in
            switch result {
            case .failure(let fault): completion(.failure(Refusal(fault)))
            case .success: self.made(key, on: loop, completion)
            }
        }
    }

    private func made(_ key: String, on loop: isolated EventLoop, _ completion: @escaping Completion<Made>) {
        find(key, on: loop) { result in
            var info = self.model.info(named: self.runs.canonical(key))
            if case .success(let found?) = result { info = found }
            self.service.created(info, on: loop)
            completion(.success(Made(info: info, isRepeat: false)))
        }
    }

    package func reset(
        _ key: String,
        if isMeant: @escaping Condition,
        on loop: isolated EventLoop,
        completion: @escaping Completion<SessionInfo>
    ) {
        if let fault = gateway.obstacle(to: .sessionsReset) { return completion(.failure(.gateway(fault))) }
        inTurn(key, completion) { finish in
            self.check(key, if: isMeant, finish, on: loop) { _ in self.reset(key, on: loop, finish) }
        }
    }

    private func reset(_ key: String, on loop: isolated EventLoop, _ finish: @escaping Completion<SessionInfo>) {
        let call = SessionsReset(key: key)
        gateway.control(call, needing: .sessionsReset, on: loop) { (result: Result<String?, GatewayFault>) in
            switch result {
            case .failure(let fault): finish(.failure(Refusal(fault)))
            case .success(let id): self.wasReset(key, to: id, on: loop, finish)
            }
        }
    }

    private func wasReset(
        _ key: String,
        to id: String?,
        on loop: isolated EventLoop,
        _ finish: @escaping Completion<SessionInfo>
    ) {
        reread(key, finish, on: loop) { after in
            self.service.reset(after, id ?? after.sessionID, on: loop)
            finish(.success(after))
        }
    }

    /// - Parameter isForced: delete even if messages in the outbox wait for the session.
    package func delete(
        _ key: String,
        keepsTranscript: Bool,
        isForced: Bool,
        if isMeant: @escaping Condition,
        on loop: isolated EventLoop,
        completion: @escaping Completion<SessionInfo>
    ) {
        if let fault = gateway.obstacle(to: .sessionsDelete) { return completion(.failure(.gateway(fault))) }
        guard key != runs.defaults.mainSession.text else { return completion(.failure(.mainSession)) }
        inTurn(key, completion) { finish in
            self.check(key, if: isMeant, finish, on: loop) { before in
                let waiting = self.outbox.summary(of: [key], now: loop.wallClock).counts.pending
                guard isForced || waiting == 0 else { return finish(.failure(.outboxNotEmpty(waiting))) }
                self.delete(before, keepsTranscript: keepsTranscript, isForced: isForced, on: loop, finish)
            }
        }
    }

    private func delete(
        _ before: SessionInfo,
        keepsTranscript: Bool,
        isForced: Bool,
        on loop: isolated EventLoop,
        _ finish: @escaping Completion<SessionInfo>
    ) {
        let call = SessionsDelete(
            key: before.key,
            deletesTranscript: !keepsTranscript,
            expectedSessionId: guardID(of: before)
        )
        gateway.control(call, needing: .sessionsDelete, on: loop) { (result: Result<Bool, GatewayFault>) in
            switch result {
            case .failure(let fault): finish(.failure(Refusal(fault)))
            case .success(let wasThere):
                guard wasThere else { return finish(.failure(.notFound)) }
                // Cancelled before the other services learn of it, since they would hold the messages back for a
                // decision.
                if isForced { self.outbox.cancelAll(of: before.key, on: loop) }
                self.service.deleted(before, on: loop)
                finish(.success(before))
            }
        }
    }

    package func compact(
        _ key: String,
        if isMeant: @escaping Condition,
        on loop: isolated EventLoop,
        completion: @escaping Completion<Compaction>
    ) {
        if let fault = gateway.obstacle(to: .sessionsCompact) { return completion(.failure(.gateway(fault))) }
        var isOpen = true
        let answer = { (result: Result<Compaction, Refusal>) in
            guard isOpen else { return }
            isOpen = false
            completion(result)
        }
        inTurn(key, answer) { finish in
            self.check(key, if: isMeant, finish, on: loop) { _ in
                let timer = loop.after(milliseconds: Self.compactionWaitMs) { answer(.success(.underWay)) }
                self.compact(key, on: loop) { result in
                    loop.cancel(timer)
                    finish(result)
                }
            }
        }
    }

    private func compact(_ key: String, on loop: isolated EventLoop, _ finish: @escaping Completion<Compaction>) {
        let call = SessionsCompact(key: key)
        gateway.control(call, needing: .sessionsCompact, on: loop) { (result: Result<Bool, GatewayFault>) in
            switch result {
            case .failure(let fault): finish(.failure(Refusal(fault)))
            case .success: self.wasCompacted(key, on: loop, finish)
            }
        }
    }

    private func wasCompacted(_ key: String, on loop: isolated EventLoop, _ finish: @escaping Completion<Compaction>) {
        reread(key, finish, on: loop) { after in
            self.service.compacted(after, on: loop)
            finish(.success(.done(after)))
        }
    }

    // MARK: Steps

    private func obstacle(to change: SessionChange, needing capability: Capability = .sessionsPatch) -> GatewayFault? {
        if let fault = gateway.obstacle(to: capability) { return fault }
        return SessionsPatch.Change(change).isLater ? gateway.obstacle(to: .sessionsArchive) : nil
    }

    /// The condition on the conversation's id, which only the newest releases take.
    private func guardID(of info: SessionInfo) -> String? {
        gateway.profile?.comparesConversations == true ? info.sessionID : nil
    }

    private func check<Value>(
        _ key: String,
        if isMeant: @escaping Condition,
        _ finish: @escaping Completion<Value>,
        on loop: isolated EventLoop,
        then proceed: @escaping (SessionInfo) -> Void
    ) {
        find(key, on: loop) { result in
            switch result {
            case .failure(let fault): finish(.failure(.gateway(fault)))
            case .success(nil): finish(.failure(.notFound))
            case .success(let info?):
                guard isMeant(info) else { return finish(.failure(.moved)) }
                proceed(info)
            }
        }
    }

    /// Checks a model's name: gateways accept any name, and every run of the session would fail from then on. Without a
    /// list to check against, the gateway decides.
    private func check<Value>(
        _ model: SessionChange.Setting?,
        _ finish: @escaping Completion<Value>,
        on loop: isolated EventLoop,
        then proceed: @escaping () -> Void
    ) {
        guard let name = model?.text, models.isSupported else { return proceed() }
        models.read(.all, on: loop) { result in
            guard let known = (try? result.get())?.value, !known.isEmpty,
                !known.contains(where: { $0.answers(to: name) })
            else { return proceed() }
            finish(.failure(.unknownModel(near: NearestName.of(name, in: known.map(\.id)))))
        }
    }

    /// Reads the session after a change. If it is gone, somebody else deleted it.
    private func reread<Value>(
        _ key: String,
        _ finish: @escaping Completion<Value>,
        on loop: isolated EventLoop,
        then proceed: @escaping (SessionInfo) -> Void
    ) {
        check(key, if: { _ in true }, finish, on: loop, then: proceed)
    }

    private func inTurn<Value>(
        _ key: String,
        _ completion: @escaping Completion<Value>,
        _ work: @escaping (@escaping Completion<Value>) -> Void
    ) {
        turns.run(SessionKey(canonical: key)) { end in
            work { result in
                completion(result)
                end()
            }
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
