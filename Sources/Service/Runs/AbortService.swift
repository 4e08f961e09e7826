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
        /// Some stops wait in the outbox, as the gateway did not answer, or, if `isGone`, has no such run. Ladle still
        /// shows that run until its end is known.
        case kept([OutboxEntry], stopped: [String], isGone: Bool)
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
        // The gateway told of the stop before it was gone with its answer.
        for run in answers.unanswered where runs.run(run)?.state == .aborted {
            answers.stopped.append(run)
            answers.confirmed.append(run)
        }
        // A run that ended meanwhile is not to be stopped any more.
        let open = (answers.unanswered + answers.missing).filter { runs.run($0)?.state.isActive ?? true }
        let entries =
            answers.confirmed.map { entry(toStop: $0, .delivered, in: session, owner: owner, on: loop) }
            + open.map { entry(toStop: $0, .queued, in: session, owner: owner, on: loop) }
        guard !entries.isEmpty else { return answer(answers, kept: [], completion) }
        feed.commit(on: loop) { transaction in
            try entries.map { try Self.enqueue($0, in: &transaction) }
        } completion: { [self] result in
            switch result {
            case .success(let kept):
                for entry in kept { events.notify(.entryAccepted(entry), on: loop) }
                answer(answers, kept: kept.filter { $0.state == .queued }, completion)
            // A stop that the gateway confirmed counts without the disk too.
            case .failure where open.isEmpty: answer(answers, kept: [], completion)
            case .failure(let error): completion(.failure(.store(error)))
            }
        }
    }

    private func answer(_ answers: Answers, kept: [OutboxEntry], _ completion: Completion) {
        // One run that was not stopped counts more than the others that were.
        if let failure = answers.failure {
            completion(.failure(.gateway(GatewayFault(failure, over: gateway))))
        } else if kept.isEmpty {
            completion(.success(.stopped(answers.stopped)))
        } else {
            completion(.success(.kept(kept, stopped: answers.stopped, isGone: answers.unanswered.isEmpty)))
        }
    }

    /// The gateway goes on with a run under another id. A stop of the run means that one too, unless it may answer
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
                // It stands for no run, and is in nobody's way.
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
