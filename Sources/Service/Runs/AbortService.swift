import Basics
package import EventLoops
import Gateway
import JSONBytes
import Ledger
package import Outbox
import Runs
import Store
import TLS

/// Stops runs. Each call names the run, because releases disagree about the spelling of a session's key.
///
/// Every stop is kept as an entry of the outbox, `delivered` if the gateway confirmed it. While the entry exists, the run's message
/// is not sent again, and if the gateway goes on with the run under another id, that run is stopped too.
package final class AbortService {
    package enum Outcome {
        /// The stopped runs; empty if none was in progress.
        case stopped([String])
        /// Some stops wait in the outbox, because the gateway did not answer. If `isGone`, it answered that it has no such run;
        /// Ladle shows that run until its end is known.
        case kept([OutboxEntry], stopped: [String], isGone: Bool)
    }

    package typealias Completion = (Result<Outcome, ServiceFault>) -> Void

    private static let againMilliseconds: Int64 = 1_000
    /// How long a stop waits for its run to begin. Gateways take a tenth of a second, a busy one a few seconds.
    private static let beginMilliseconds: Int64 = 5_000

    /// A request, which may stop several runs, and the gateway's answers.
    private final class Request {
        let session: String
        let owner: String?
        let completion: Completion
        var stopped: [String] = []
        /// The runs that were named and that the gateway says it stopped.
        var confirmed: [String] = []
        /// Runs that the gateway does not have.
        var missing: [String] = []
        /// Runs whose abort may not have arrived, or came while the gateway was starting.
        var unanswered: [String] = []
        var failure: CallFailure?
        /// Runs about which the gateway has not answered yet.
        var asked: [String]

        init(in session: String, owner: String?, asked: [String], completion: @escaping Completion) {
            self.session = session
            self.owner = owner
            self.asked = asked
            self.completion = completion
        }
    }

    private struct EarlyStop {
        let request: Request
        let timer: TimerID
    }

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let runs: RunService
    private let outbox: OutboxService
    /// Stops that wait for their run to begin.
    private var early: [String: [EarlyStop]] = [:]
    /// The requests that are not answered yet.
    private var open: [ObjectIdentifier: Request] = [:]
    /// A stop lives as long as a message: it names its run, so it can never reach another.
    private let ttlMilliseconds: Int64

    init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        events: ServiceEvents,
        runs: RunService,
        outbox: OutboxService,
        ttlMilliseconds: Int64
    ) {
        self.gateway = gateway
        self.feed = feed
        self.events = events
        self.runs = runs
        self.outbox = outbox
        self.ttlMilliseconds = ttlMilliseconds
    }

    /// Stops every run of a session.
    /// - Parameter owner: the caller's token, for aborts that wait in the outbox.
    package func stopAll(
        in session: String,
        owner: String?,
        on loop: isolated EventLoop,
        completion: @escaping Completion
    ) {
        let known = runs.runs(activeOnly: true, session: session).map(\.id)
        guard known.isEmpty else { return stop(known, in: session, owner: owner, on: loop, completion: completion) }
        // Newer gateways name a run that began before this connection.
        gateway.call(ChatHistory(sessionKey: session, limit: 1), on: loop) { [self] result in
            switch result {
            case .success(let page):
                guard let run = page.inFlightRunId else { return completion(.success(.stopped([]))) }
                stop([run], in: session, owner: owner, on: loop, completion: completion)
            case .failure(let failure): completion(.failure(.gateway(GatewayFault(failure, over: gateway))))
            }
        }
    }

    package func stop(
        _ runs: [String],
        in session: String,
        owner: String?,
        on loop: isolated EventLoop,
        completion: @escaping Completion
    ) {
        let request = Request(in: session, owner: owner, asked: runs, completion: completion)
        open[ObjectIdentifier(request)] = request
        for run in runs {
            if mayBeTooEarly(run) { wait(for: run, request, on: loop) } else { send(run, request, on: loop) }
        }
    }

    /// Whether the gateway has the message but has not begun to run it. Most releases do not keep a stop that comes then: they ask
    /// the model anyway and repeat the previous answer, or put the words into the next prompt, or run the message later
    /// (`captures-faults-2`: `stop-early`, `stop-then-merged`, `stop-then-own-run`).
    private func mayBeTooEarly(_ run: String) -> Bool {
        gateway.isOnline && gateway.profile?.messages.earlyStop != .clean && runs.run(run)?.state == .queued
    }

    private func wait(for run: String, _ request: Request, on loop: isolated EventLoop) {
        let timer = loop.after(milliseconds: Self.beginMilliseconds) { [weak self] in
            self?.sendEarlyStops(of: run, on: loop)
        }
        early[run, default: []].append(EarlyStop(request: request, timer: timer))
    }

    /// Sends the stops that waited for the run to begin: it has begun or ended, or the wait is over.
    func sendEarlyStops(of run: String, on loop: isolated EventLoop) {
        for stop in early.removeValue(forKey: run) ?? [] {
            loop.cancel(stop.timer)
            send(run, stop.request, on: loop)
        }
    }

    private func send(_ run: String, _ request: Request, on loop: isolated EventLoop) {
        gateway.call(ChatAbort(sessionKey: request.session, runId: run), on: loop) { [self] result in
            request.asked.removeAll { $0 == run }
            switch result {
            case .success(let output) where output.aborted:
                request.stopped += output.runIds.isEmpty ? [run] : output.runIds
                request.confirmed.append(run)
                outbox.stopped(run: run, on: loop)
            case .success: request.missing.append(run)
            case .failure(.notDispatched), .failure(.ambiguous): request.unanswered.append(run)
            case .failure(.gateway(let error, _)) where GatewayRejection(error).isTransient:
                request.unanswered.append(run)
            case .failure(let failure): request.failure = failure
            }
            if request.asked.isEmpty { settle(request, on: loop) }
        }
    }

    /// Answers every request now. The stops that the gateway has not answered stay in the outbox, as after a break of the link.
    package func shutDown(on loop: isolated EventLoop) {
        for stop in early.values.joined() { loop.cancel(stop.timer) }
        early.removeAll()
        for request in Array(open.values) {
            request.unanswered += request.asked
            settle(request, on: loop)
        }
    }

    private func settle(_ request: Request, on loop: isolated EventLoop) {
        guard open.removeValue(forKey: ObjectIdentifier(request)) != nil else { return }
        // An event has reported the stop, although the call got no answer.
        for run in request.unanswered where runs.run(run)?.state == .aborted {
            request.stopped.append(run)
            request.confirmed.append(run)
        }
        // A run that ended meanwhile needs no stop.
        let open = (request.unanswered + request.missing).filter { runs.run($0)?.state.isActive ?? true }
        let entries =
            request.confirmed.map { entry(toStop: $0, .delivered, in: request.session, owner: request.owner, on: loop) }
            + open.map { entry(toStop: $0, .queued, in: request.session, owner: request.owner, on: loop) }
        guard !entries.isEmpty else { return answer(request, kept: []) }
        feed.commit(on: loop) { transaction in
            try entries.map { try Self.enqueue($0, in: &transaction) }
        } completion: { [self] result in
            switch result {
            case .success(let kept):
                for entry in kept { events.notify(.entryAccepted(entry), on: loop) }
                answer(request, kept: kept.filter { $0.state == .queued })
            // The gateway has confirmed every stop, so the request succeeds although the disk failed.
            case .failure where open.isEmpty: answer(request, kept: [])
            case .failure(let error): request.completion(.failure(.store(error)))
            }
        }
    }

    private func answer(_ request: Request, kept: [OutboxEntry]) {
        // If one run could not be stopped, the request has failed, even if other runs were stopped.
        if let failure = request.failure {
            request.completion(.failure(.gateway(GatewayFault(failure, over: gateway))))
        } else if kept.isEmpty {
            request.completion(.success(.stopped(request.stopped)))
        } else {
            request.completion(.success(.kept(kept, stopped: request.stopped, isGone: request.unanswered.isEmpty)))
        }
    }

    /// The gateway goes on with a run under another id. A stop of the old run also stops the new one, unless the new one may answer
    /// another message as well: then a person has to decide.
    func runContinued(
        _ run: String,
        as answer: String,
        in session: String,
        isShared: Bool,
        on loop: isolated EventLoop
    ) {
        let entry = entry(toStop: answer, .queued, in: session, owner: nil, on: loop)
        feed.commit(on: loop) { transaction -> OutboxEntry? in
            guard let stop = try transaction.outbox.stop(ofRun: run, in: session),
                try transaction.outbox.stop(ofRun: answer, in: session) == nil
            else { return nil }
            var entry = entry
            entry.owner = stop.owner
            if isShared {
                entry.state = .failed
                entry.fault = .sharedRun(answer)
                // The entry only asks a person to decide. Without a coalescing key it does not count as a stop of the run.
                entry.coalescingKey = nil
            }
            return try Self.enqueue(entry, in: &transaction)
        } completion: { [self] result in
            switch result {
            case .success(let accepted): if let accepted { events.notify(.entryAccepted(accepted), on: loop) }
            case .failure:
                // The stop was promised, so it is written again until the disk takes it.
                loop.after(milliseconds: Self.againMilliseconds) { [weak self] in
                    self?.runContinued(run, as: answer, in: session, isShared: isShared, on: loop)
                }
            }
        }
    }

    // MARK: Keeping

    private func entry(
        toStop run: String,
        _ state: OutboxState,
        in session: String,
        owner: String?,
        on loop: isolated EventLoop
    ) -> OutboxEntry {
        let now = loop.wallClock
        var entry = OutboxEntry(
            id: UUIDv7.make(milliseconds: now.milliseconds, random: SecureRandom.bytes(10)),
            kind: .abort,
            session: session,
            text: run,
            createdAt: now,
            expiresAt: now.adding(milliseconds: ttlMilliseconds),
            coalescingKey: OutboxEntry.abortKey(ofRun: run),
            owner: owner
        )
        entry.state = state
        entry.proof = state == .delivered ? .answer : nil
        return entry
    }

    private static func enqueue(_ entry: OutboxEntry, in transaction: inout StoreTransaction) throws -> OutboxEntry {
        let payload = OutboxTable.Payload(text: entry.text, body: nil)
        // A stop needs no room and has no idempotency key, so nothing else refuses it.
        guard case .accepted(let entry) = try transaction.enqueue(entry, payload: payload) else {
            throw StoreError.unavailable("the stop was not taken")
        }
        return entry
    }
}
