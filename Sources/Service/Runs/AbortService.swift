import Basics
package import EventLoops
import Gateway
import JSONBytes
package import Outbox
import Runs
import Store
import TLS

/// Stops runs. Each call names the run, because releases disagree about the spelling of a session's key.
///
/// A stop is kept in the outbox, as delivered if the gateway says that it stopped the run. While it is there, the run's
/// message is not sent again, and a run with which the gateway goes on by itself is stopped too.
package final class AbortService {
    package enum Outcome {
        /// The stopped runs; empty if none was in progress.
        case stopped([String])
        /// Some stops wait in the outbox, as the gateway is away, or has no such run. Ladle still shows that run until
        /// its end is known.
        case kept([OutboxEntry], stopped: [String], isGatewayAway: Bool)
    }

    package typealias Completion = (Result<Outcome, ServiceFault>) -> Void

    private static let againMilliseconds: Int64 = 1_000

    /// The gateway's answers to one request, which may stop several runs.
    private final class Answers {
        var stopped: [String] = []
        /// The runs that were named and that the gateway says it stopped.
        var confirmed: [String] = []
        /// Runs that the gateway does not have.
        var missing: [String] = []
        /// Runs whose abort may not have arrived, or came while the gateway was starting.
        var unanswered: [String] = []
        var failure: CallFailure?
        var waiting: Int

        init(waiting: Int) {
            self.waiting = waiting
        }
    }

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let runs: RunService
    private let outbox: OutboxService
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
        let answers = Answers(waiting: runs.count)
        for run in runs {
            gateway.call(ChatAbort(sessionKey: session, runId: run), on: loop) { [self] result in
                answers.waiting -= 1
                switch result {
                case .success(let output) where output.aborted:
                    answers.stopped += output.runIds.isEmpty ? [run] : output.runIds
                    answers.confirmed.append(run)
                    outbox.stopped(run: run, on: loop)
                case .success: answers.missing.append(run)
                case .failure(.notDispatched), .failure(.ambiguous): answers.unanswered.append(run)
                case .failure(.gateway(let error, _)) where GatewayRejection(error).isTransient:
                    answers.unanswered.append(run)
                case .failure(let failure): answers.failure = failure
                }
                if answers.waiting == 0 { settle(answers, in: session, owner: owner, on: loop, completion: completion) }
            }
        }
    }

    private func settle(
        _ answers: Answers,
        in session: String,
        owner: String?,
        on loop: isolated EventLoop,
        completion: @escaping Completion
    ) {
        guard answers.confirmed.isEmpty else {
            let confirmed = answers.confirmed
            answers.confirmed = []
            // If the disk does not take them, the gateway's word still counts, and Ladle remembers it.
            return keep(confirmed, in: session, owner: owner, as: .delivered, on: loop) { [self] _ in
                settle(answers, in: session, owner: owner, on: loop, completion: completion)
            }
        }
        // A run that ended meanwhile is not to be stopped any more.
        let open = (answers.unanswered + answers.missing).filter { runs.run($0)?.state.isActive ?? true }
        guard open.isEmpty else {
            return keep(open, in: session, owner: owner, as: .queued, on: loop) { result in
                switch result {
                case .success(let entries):
                    let isAway = !answers.unanswered.isEmpty
                    completion(.success(.kept(entries, stopped: answers.stopped, isGatewayAway: isAway)))
                case .failure(let error): completion(.failure(.store(error)))
                }
            }
        }
        // One run that was not stopped counts more than the others that were.
        guard let failure = answers.failure else { return completion(.success(.stopped(answers.stopped))) }
        completion(.failure(.gateway(GatewayFault(failure, over: gateway))))
    }

    /// The gateway goes on with a run under another id: a stop of the run means that one too.
    func runContinued(_ run: String, as answer: String, in session: String, on loop: isolated EventLoop) {
        let entry = entry(toStop: answer, in: session, on: loop)
        feed.commit(on: loop) { transaction -> OutboxEntry? in
            guard let stop = try transaction.outbox.stop(ofRun: run, in: session),
                try transaction.outbox.stop(ofRun: answer, in: session) == nil
            else { return nil }
            var entry = entry
            entry.owner = stop.owner
            return try Self.enqueue(entry, run: answer, in: &transaction)
        } completion: { [self] result in
            switch result {
            case .success(let accepted): if let accepted { events.notify(.entryAccepted(accepted), on: loop) }
            case .failure:
                // The stop was promised, so it is written again until the disk takes it.
                loop.after(milliseconds: Self.againMilliseconds) { [weak self] in
                    self?.runContinued(run, as: answer, in: session, on: loop)
                }
            }
        }
    }

    // MARK: Keeping

    /// Puts the aborts into the outbox, where waiting ones overtake the session's waiting messages.
    private func keep(
        _ runs: [String],
        in session: String,
        owner: String?,
        as state: OutboxState,
        on loop: isolated EventLoop,
        completion: @escaping (Result<[OutboxEntry], any Error>) -> Void
    ) {
        let entries = runs.map { run in
            var entry = entry(toStop: run, in: session, on: loop)
            entry.owner = owner
            entry.state = state
            entry.proof = state == .delivered ? .answer : nil
            return entry
        }
        feed.commit(on: loop) { transaction in
            try zip(entries, runs).compactMap { entry, run in try Self.enqueue(entry, run: run, in: &transaction) }
        } completion: { [self] result in
            if case .success(let accepted) = result {
                for entry in accepted { events.notify(.entryAccepted(entry), on: loop) }
            }
            completion(result)
        }
    }

    private func entry(toStop run: String, in session: String, on loop: isolated EventLoop) -> OutboxEntry {
        let now = loop.wallClock
        return OutboxEntry(
            id: UUIDv7.make(milliseconds: now.milliseconds, random: SecureRandom.bytes(10)),
            kind: .abort,
            session: session,
            createdAt: now,
            expiresAt: now.adding(milliseconds: ttlMilliseconds),
            coalescingKey: OutboxEntry.abortKey(ofRun: run)
        )
    }

    /// Never nil: a stop needs no room in the outbox and has no idempotency key.
    private static func enqueue(
        _ entry: OutboxEntry,
        run: String,
        in transaction: inout StoreTransaction
    ) throws -> OutboxEntry? {
        let payload = OutboxTable.Payload(text: run, body: nil)
        guard case .accepted(let entry) = try transaction.enqueue(entry, payload: payload) else { return nil }
        return entry
    }
}
