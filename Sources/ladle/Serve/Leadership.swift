import Basics
import Commands
import Configuration
import Observability
import POSIX
import Store
import Synchronization

/// The lease of a host whose state is on a server: the host waits until it leads, and its process ends once it may no longer.
final class Leadership: Sendable {
    private enum Event { case change(LeaseKeeper.Change), stop }

    /// The process was asked to stop while it waited.
    struct Stopped: Error {}

    private let database: DatabaseConfiguration
    private let log: Log
    private let keeper: LeaseKeeper
    private let events: AsyncStream<Event>
    private let note: AsyncStream<Event>.Continuation
    private let isWaiting = Mutex(true)
    private let resigns = Mutex(false)

    /// - Parameter leave: ends the process at once.
    init(
        _ database: DatabaseConfiguration,
        in directory: StateDirectory,
        _ seen: SeenCommits,
        log: Log,
        leave: @escaping @Sendable (String) -> Void
    ) throws {
        self.database = database
        self.log = log
        (events, note) = AsyncStream.makeStream()
        keeper = LeaseKeeper(try database.lease(in: directory, seen)) { [note] change in
            // Nothing may come between: what this process has in memory may not be what the next leader wrote.
            if change == .deposed { leave("another Ladle has taken over the database") }
            if change == .hasLoss { leave("another host has seen commits that the database lacks") }
            note.yield(.change(change))
        }
    }

    var permit: Permit { keeper.permit }
    /// Whether a person asked this leader to step down.
    var hasStepped: Bool { resigns.withLock { $0 } }

    /// Waits until this host leads.
    func take(
        _ output: StartupOutput,
        _ manager: ServiceManager,
        stop: StopRequest
    ) async throws -> LeaseKeeper.Lead {
        let hasKey = database.identity != nil
        stop.whenAsked { [note] in note.yield(.stop) }
        defer {
            isWaiting.withLock { $0 = false }
            stop.whenAsked {}
        }
        var isFed = false
        keeper.start()
        for await event in events {
            switch event {
            case .change(.waits(let leader, let isAlive)):
                let name = Printable.line(leader.name)
                switch (hasKey, isAlive) {
                case (true, false):
                    output.say(
                        "serve.waiting",
                        "\(name) leads; this host waits, and takes over when that one stops or is silent for "
                            + "\(database.takeoverMs / 1000) s"
                    )
                    manager.waits(for: name)
                    if !isFed { feedWatchdog(manager) }
                    isFed = true
                case (true, true):
                    if leader.hasKey { break }
                    await keeper.resign()
                    throw refusal(of: name)
                // It may be dead, and this host the machine in its place.
                case (false, false): break
                case (false, true):
                    await keeper.resign()
                    throw refusal(behind: name)
                }
            case .change(.away(let reason)): log.warning("database.away", ["error": .string(reason)])
            case .change(.back): log.notice("database.back")
            case .change(.leads(let lead)): return lead
            case .change(.failed(let fault)): throw DatabaseConfiguration.failure(fault, url: database.url)
            case .change: break
            case .stop:
                manager.stopping()
                await keeper.resign()
                throw Stopped()
            }
        }
        throw Stopped()
    }

    /// A host without a key must not take the place of one that is there: the gateway would see another device.
    private func refusal(behind leader: String) -> StartFailure {
        StartFailure(
            message:
                "\(leader) uses the database, and this host has no cluster.keyFile, with which it would be the same device for the "
                + "gateway; make a key with ladle cluster key FILE, and start each host with --cluster-key-file FILE, \(leader) first",
            status: .configuration
        )
    }

    /// Nor must one with a key take the place of one without, whose device is in its state directory alone.
    private func refusal(of leader: String) -> StartFailure {
        StartFailure(
            message:
                "\(leader) uses the database, and has no cluster.keyFile, so this host would be another device for the gateway; start "
                + "\(leader) again with --cluster-key-file FILE, and then this one",
            status: .configuration
        )
    }

    private func feedWatchdog(_ manager: ServiceManager) {
        guard let milliseconds = manager.heartbeatMilliseconds else { return }
        BackgroundWork.after(milliseconds: milliseconds) { [self] in
            Task {
                await keeper.answer()
                guard isWaiting.withLock({ $0 }) else { return }
                manager.alive()
                feedWatchdog(manager)
            }
        }
    }

    /// Follows the lease while this host leads.
    /// - Parameter mayAct: called when the right to act has ended, and when it is back.
    func follow(
        stop: StopRequest,
        leave: @escaping @Sendable (String) -> Void,
        mayAct: @escaping @Sendable (Bool) -> Void
    ) {
        Task { [self] in
            for await event in events {
                switch event {
                case .change(.suspended): mayAct(false)
                case .change(.resumed): mayAct(true)
                case .change(.askedToResign):
                    resigns.withLock { $0 = true }
                    stop.ask()
                case .change(.failed(let fault)): leave(fault.reason)
                case .change, .stop: break
                }
            }
        }
    }

    func opened() async { await keeper.opened() }

    func resign() async { await keeper.resign() }
}
