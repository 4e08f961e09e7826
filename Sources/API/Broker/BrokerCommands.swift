import Access
import Basics
import Broker
package import EventLoops
import HTTPModel
import JSONBytes
package import MQTT
package import Observability
import Outbox
import Runs
import Server
package import Service
import TLS

/// Commands from the MQTT broker. Each becomes a request to the API by the caller `mqtt`, so that every rule of the API holds for it, and
/// the broker gets its PUBACK once the answer is there: by then a message is on disk.
package final class BrokerCommands: BrokerCommandTaker {
    /// Beyond this, a repeat that the broker marks as one is a command of its own.
    private static let repeatMs: Int64 = 600_000
    private static let mostRepeats = 256
    /// The longest wait for the end of a run.
    private static let waitSeconds = 600
    /// Waits for the ends of runs that go on at the same time.
    private static let mostWaits = 16
    private static let mostOfAll = 200
    /// Above the numbers of requests over HTTP.
    private static let firstNumber: UInt64 = 1 << 52

    /// The status of a command, and the result that its sender gets.
    private struct Outcome: Sendable {
        let status: Int
        let result: [UInt8]

        var isSuccess: Bool { (200..<300).contains(status) }
        /// Also where the gateway took a request and did not answer in time.
        var mayHaveActed: Bool { isSuccess || status == 504 }
    }

    private unowned let api: HTTPAPI
    private let service: BrokerService
    private let reader: CommandReader
    private let caller: Caller
    private var loops = LoopGuard()
    private var rate = BrokerLimits.commandRate
    private var number = firstNumber
    /// The keys of the newest messages without a key of their own, by the digest of topic and payload.
    private var keys: [String: (key: String, until: Int64)] = [:]
    /// The newest keys that senders gave.
    private var given: Set<String> = []
    private var waits = 0
    private(set) var done: [String: UInt64] = [:]
    private(set) var refused: [String: UInt64] = [:]

    package init(_ api: HTTPAPI, _ service: BrokerService) {
        self.api = api
        self.service = service
        let settings = service.settings
        reader = CommandReader(
            topics: settings.topics,
            scopes: settings.scopes,
            maxAgeMs: settings.maxAgeMilliseconds,
            responsePrefix: settings.responsePrefix
        )
        let scopes = settings.scopes.names.compactMap { Scope(rawValue: $0) }
        caller = .broker(scopes: ScopeSet(scopes), sessions: settings.sessions)
        service.commands = self
    }

    // MARK: One command

    package func take(_ delivery: MQTTDelivery, on loop: isolated EventLoop) {
        let message = BrokerMessage(delivery)
        switch reader.read(message, now: loop.wallClock) {
        case .ignored: acknowledge(delivery, .success, on: loop)
        case .refused(let refusal, let verb, let address):
            // A flood of mistakes gets no flood of answers.
            guard rate.take(now: loop.now) else { return acknowledge(delivery, .quotaExceeded, on: loop) }
            refuse(delivery, refusal, verb, address, .success, on: loop)
        case .command(let command):
            guard rate.take(now: loop.now) else {
                return refuse(delivery, .rateLimited, command.verb, command.address, .quotaExceeded, on: loop)
            }
            if let words = command.message, !delivery.isDuplicate, isNew(command.key),
                let refusal = loops.admit(words.text, session: words.session, now: loop.wallClock)
            {
                return refuse(delivery, refusal, command.verb, command.address, .success, on: loop)
            }
            loop.start { await self.carryOut(command, message, delivery, on: loop) }
        }
    }

    private func carryOut(
        _ command: BrokerCommand,
        _ message: BrokerMessage,
        _ delivery: MQTTDelivery,
        on loop: isolated EventLoop
    ) async {
        if case .request(let request) = command.action, request.takesKey {
            await send(command, request, message, delivery, on: loop)
        } else {
            let outcome = await once(command, message, on: loop)
            acknowledge(delivery, .success, on: loop)
            tell(command, outcome, on: loop)
        }
    }

    /// A message. Its key is that of its entry.
    private func send(
        _ command: BrokerCommand,
        _ request: BrokerRequest,
        _ message: BrokerMessage,
        _ delivery: MQTTDelivery,
        on loop: isolated EventLoop
    ) async {
        let key = await key(of: command, message, on: loop)
        let answer = await perform(request, key: key, on: loop)
        tell(command, outcome(answer, of: command), on: loop)
        if answer.status >= 500 {
            // The message is not on disk. Without a PUBACK the broker keeps it, and gives it again over the next connection.
            return service.couldNotKeep(on: loop)
        }
        acknowledge(delivery, .success, on: loop)
        if command.waits, answer.status == 202, let key { await waitForEnd(command, request, key, on: loop) }
    }

    // MARK: Commands that act at once

    /// A command that is no message. Under a key of its sender it acts once: the key is on disk before, and a repeat gets the first result.
    private func once(_ command: BrokerCommand, _ message: BrokerMessage, on loop: isolated EventLoop) async -> Outcome
    {
        guard case .given(let key) = command.key else { return await act(command, on: loop) }
        let claim = ControlReceipts.Claim(
            scope: "\(caller.identity) \(command.verb.rawValue)",
            key: key,
            meaning: Array(message.topic.utf8) + [0] + message.payload
        )
        let receipts = api.services.receipts
        switch await loop.wait(for: { receipts.begin(claim, on: loop, completion: $0) }) {
        case .success(.first):
            let outcome = await act(command, on: loop)
            // A command that changed nothing may be repeated.
            await loop.wait {
                receipts.finish(claim, outcome.mayHaveActed ? outcome.result : nil, on: loop, completion: $0)
            }
            return outcome
        case .success(.repeated(let result)): return Outcome(status: 200, result: result)
        case .success(.reused): return problem(.idempotencyKeyReused, Self.reused, command)
        case .success(.lost): return problem(.gatewayTimeout, Self.lost, command)
        // A stop and a refusal act also on a full disk, which knows no repeat then.
        case .success(.notSent), .failure: return await act(command, on: loop)
        }
    }

    private static let reused = "This id came with another command in the last 24 hours."
    private static let lost =
        "Ladle ended while it carried this command out the first time; whether it was done is not known."

    private func act(_ command: BrokerCommand, on loop: isolated EventLoop) async -> Outcome {
        let requests: [BrokerRequest]
        switch command.action {
        case .request(let request): return outcome(await perform(request, key: nil, on: loop), of: command)
        case .abortAll:
            let active = api.runs.runs(activeOnly: true).filter { caller.mayUse(session: $0.session.text) }
            requests = active.map { .abort(run: $0.id) }
        case .retryFailed: requests = await failedEntries(on: loop).map { .retry(entry: $0) }
        case .denyAll:
            let pending = api.services.approvals.waiting(on: loop).filter {
                $0.isPending && caller.mayUse(session: $0.session)
            }
            requests = pending.map { .deny(approval: $0.id) }
        }
        var failed = 0
        for request in requests.prefix(Self.mostOfAll) where !(await perform(request, key: nil, on: loop)).isSuccess {
            failed += 1
        }
        let count = min(requests.count, Self.mostOfAll)
        let result = BrokerResult.counted(done: count - failed, failed: failed, verb: command.verb, command.address)
        return Outcome(status: 200, result: result)
    }

    /// The request is repeated under its key, with which it waits for the message's own run.
    private func waitForEnd(
        _ command: BrokerCommand,
        _ request: BrokerRequest,
        _ key: String,
        on loop: isolated EventLoop
    ) async {
        guard waits < Self.mostWaits else {
            let result = BrokerResult.refused(.tooManyWaits, verb: command.verb, command.address)
            return service.answer(command.address, result, on: loop)
        }
        waits += 1
        defer { waits -= 1 }
        let answer = await perform(request, query: "?wait=\(Self.waitSeconds)", key: key, on: loop)
        tell(command, outcome(answer, of: command), on: loop)
    }

    private func failedEntries(on loop: isolated EventLoop) async -> [String] {
        let sessions: [String?] = caller.sessions.map { $0.texts.map { $0 } } ?? [nil]
        let query = OutboxReader.Query(sessions: sessions, states: [.failed], before: nil, limit: Self.mostOfAll)
        let page = try? await api.services.outboxReader.page(query, on: loop)
        return (page?.entries ?? []).map(\.id)
    }

    // MARK: Requests

    private func perform(
        _ request: BrokerRequest,
        query: String = "",
        key: String?,
        on loop: isolated EventLoop
    ) async -> LocalRequest.Answer {
        number += 1
        let number = number
        return await loop.wait { answer in
            LocalRequest.perform(request, query: query, key: key, number: number, by: caller, api, on: loop, answer)
        }
    }

    private func outcome(_ answer: LocalRequest.Answer, of command: BrokerCommand) -> Outcome {
        let result = BrokerResult.answered(answer.body, status: answer.status, verb: command.verb, command.address)
        return Outcome(status: answer.status, result: result)
    }

    private func problem(_ code: ProblemCode, _ detail: String, _ command: BrokerCommand) -> Outcome {
        let problem = Problem(code, detail, field: "id", retryable: false).response(requestID: "")
        return outcome(LocalRequest.Answer(status: Int(problem.head.status.code), body: problem.body), of: command)
    }

    private func tell(_ command: BrokerCommand, _ outcome: Outcome, on loop: isolated EventLoop) {
        if outcome.isSuccess {
            done[command.verb.rawValue, default: 0] += 1
        } else {
            refused[command.verb.rawValue, default: 0] += 1
        }
        service.answer(command.address, outcome.result, on: loop)
    }

    private func refuse(
        _ delivery: MQTTDelivery,
        _ refusal: BrokerRefusal,
        _ verb: BrokerCommand.Verb?,
        _ address: ResultAddress,
        _ reason: MQTTReason,
        on loop: isolated EventLoop
    ) {
        refused[verb?.rawValue ?? "none", default: 0] += 1
        acknowledge(delivery, reason, on: loop)
        service.answer(address, BrokerResult.refused(refusal, verb: verb, address), on: loop)
    }

    private func acknowledge(_ delivery: MQTTDelivery, _ reason: MQTTReason, on loop: isolated EventLoop) {
        if let id = delivery.id { service.acknowledge(id, reason, on: loop) }
    }

    // MARK: Repeats

    /// Whether a command is none that this process has seen under its own key.
    private func isNew(_ key: BrokerCommand.Key) -> Bool {
        guard case .given(let key) = key else { return true }
        if given.count >= Self.mostRepeats { given = [] }
        return given.insert(key).inserted
    }

    /// The idempotency key under which a message is accepted. A sender that gave none gets a new one, which begins with the digest of topic
    /// and payload: by that a repeat is found which the broker sends after Ladle died before its PUBACK.
    private func key(of command: BrokerCommand, _ message: BrokerMessage, on loop: isolated EventLoop) async -> String?
    {
        if case .given(let key) = command.key { return key }
        let digest = "digest:" + Hex.encode(Digest.sha256(Array(message.topic.utf8) + [0] + message.payload))
        if case .digestOfDuplicate = command.key, let known = await knownKey(digest, on: loop) { return known }
        let now = loop.wallClock.milliseconds
        number += 1
        let key = "\(digest).\(String(now, radix: 36)).\(String(number, radix: 36))"
        if keys.count >= Self.mostRepeats { keys = keys.filter { $0.value.until > now } }
        if keys.count >= Self.mostRepeats { keys = [:] }
        keys[digest] = (key, now + Self.repeatMs)
        return key
    }

    private func knownKey(_ digest: String, on loop: isolated EventLoop) async -> String? {
        let now = loop.wallClock
        if let known = keys[digest], known.until > now.milliseconds { return known.key }
        return await api.services.intake.newestKey(
            of: caller.identity,
            beginning: digest,
            since: now.adding(milliseconds: -Self.repeatMs),
            on: loop
        )
    }
}

extension BrokerCommands: MetricsSource {
    package func writeMetrics(to page: inout MetricsPage) {
        let verbs = BrokerCommand.Verb.allCases.map(\.rawValue) + ["none"]
        page.counters(
            "ladle_mqtt_commands",
            "Commands of the MQTT broker, by how they ended.",
            verbs.map { (["verb": $0, "result": "done"], done[$0] ?? 0) }
                + verbs.map { (["verb": $0, "result": "refused"], refused[$0] ?? 0) }
        )
    }
}

extension BrokerMessage {
    init(_ delivery: MQTTDelivery) {
        let message = delivery.message
        self.init(
            topic: message.topic,
            payload: message.payload,
            isRetained: message.retain,
            isDuplicate: delivery.isDuplicate,
            correlation: message.correlationData,
            responseTopic: message.responseTopic,
            properties: message.userProperties.map { Property($0.name, $0.value) },
            expiry: message.expirySeconds
        )
    }
}
