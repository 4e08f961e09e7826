import Basics
package import EventLoops
import Gateway
import JSONBytes
package import Outbox
import Runs
import Store
import TLS

/// Stops runs. Each call names the run, because releases disagree about the spelling of a session's key.
package final class AbortService {
    package enum Outcome {
        /// The stopped runs; empty if none was in progress.
        case stopped([String])
        /// The gateway has no such run, as after its restart. Ladle still shows it until its end is known.
        case gone
        /// The gateway is away, so the aborts wait in the outbox.
        case queued([OutboxEntry])
        case outboxFull(OutboxLimits)
    }

    package typealias Completion = (Result<Outcome, ServiceFault>) -> Void

    /// An abort that arrives later than this is no longer wanted.
    private static let ttlMilliseconds: Int64 = 600_000

    /// The gateway's answers to one request, which may stop several runs.
    private final class Answers {
        var stopped: [String] = []
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
    private let limits: OutboxLimits

    init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        events: ServiceEvents,
        runs: RunService,
        outbox: OutboxService,
        limits: OutboxLimits
    ) {
        self.gateway = gateway
        self.feed = feed
        self.events = events
        self.runs = runs
        self.outbox = outbox
        self.limits = limits
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
        guard gateway.isOnline else { return completion(.success(.stopped([]))) }
        // Newer gateways name a run that began before this connection.
        gateway.call(ChatHistory(sessionKey: session, limit: 1), on: loop) { [self] result in
            guard case .success(let page) = result, let run = page.inFlightRunId else {
                return completion(.success(.stopped([])))
            }
            stop([run], in: session, owner: owner, on: loop, completion: completion)
        }
    }

    package func stop(
        _ runs: [String],
        in session: String,
        owner: String?,
        on loop: isolated EventLoop,
        completion: @escaping Completion
    ) {
        guard gateway.isOnline else {
            return enqueue(runs, in: session, owner: owner, on: loop, completion: completion)
        }
        let answers = Answers(waiting: runs.count)
        for run in runs {
            gateway.call(ChatAbort(sessionKey: session, runId: run), on: loop) { [self] result in
                answers.waiting -= 1
                switch result {
                case .success(let output):
                    if output.aborted { answers.stopped += output.runIds.isEmpty ? [run] : output.runIds }
                case .failure(let failure): answers.failure = failure
                }
                guard answers.waiting == 0 else { return }
                if answers.stopped.isEmpty, let failure = answers.failure {
                    completion(.failure(.gateway(GatewayFault(failure, over: gateway))))
                } else {
                    let left = runs.filter { self.runs.run($0)?.state.isActive ?? false }
                    guard answers.stopped.isEmpty, !left.isEmpty else {
                        return completion(.success(.stopped(answers.stopped)))
                    }
                    for run in left { outbox.stopped(run: run, on: loop) }
                    completion(.success(.gone))
                }
            }
        }
    }

    /// Puts the aborts into the outbox, where they overtake the session's waiting messages.
    private func enqueue(
        _ runs: [String],
        in session: String,
        owner: String?,
        on loop: isolated EventLoop,
        completion: @escaping Completion
    ) {
        let now = loop.wallClock
        let entries = runs.map { run in
            OutboxEntry(
                id: UUIDv7.make(milliseconds: now.milliseconds, random: SecureRandom.bytes(10)),
                kind: .abort,
                session: session,
                createdAt: now,
                expiresAt: now.adding(milliseconds: Self.ttlMilliseconds),
                coalescingKey: OutboxEntry.abortKey(ofRun: run),
                owner: owner
            )
        }
        feed.commit(on: loop) { [limits] transaction in
            var accepted: [OutboxEntry] = []
            for (entry, run) in zip(entries, runs) {
                let payload = OutboxTable.Payload(text: run, body: nil)
                let result = try transaction.enqueue(entry, payload: payload, limits: limits)
                if case .accepted(let entry) = result { accepted.append(entry) }
            }
            return accepted
        } completion: { [self] result in
            switch result {
            case .success(let accepted):
                for entry in accepted { events.notify(.entryAccepted(entry), on: loop) }
                completion(.success(accepted.isEmpty ? .outboxFull(limits) : .queued(accepted)))
            case .failure(let error): completion(.failure(.store(error)))
            }
        }
    }
}
