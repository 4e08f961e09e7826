import Basics
import Documents
import EventLoops
import Gateway
import JSONBytes
import Ledger
import Observability
import Outbox
import Runs
import Service
import Store
import TestSupport
import Testing
import Upstream

/// All services on a loop with a clock moved by hand, a scripted gateway and a database in memory.
final class ServiceBench: ServiceEventReceiver {
    static let main = "agent:main:main"

    let clock: ManualClock
    let journal: MemoryJournal
    let gateway = ScriptedGateway()
    private(set) var settings: ServiceSettings
    private(set) var services: Services
    /// All events published to the streams.
    private(set) var published: [StreamEvent] = []
    /// The messages that the services were told of as said.
    private(set) var said: [ChatMessage] = []
    /// Whether the services allowed the link to open.
    private(set) var mayOpen = false
    private var lastID: Int64 = 0

    init(clock: ManualClock, _ settings: ServiceSettings) throws {
        self.clock = clock
        self.settings = settings
        journal = try MemoryJournal(clock: clock)
        services = Services(settings, gateway: gateway, journal: journal)
        services.events.add(self)
    }

    func receive(_ event: ServiceEvent, on loop: isolated EventLoop) {
        if case .published(let event) = event { published.append(event) }
        if case .messageSaid(let message, _) = event { said.append(message) }
    }

    // MARK: Time

    struct Restless: Error {}

    private static let mostTurns = 10_000
    /// A flow that goes on over another thread takes as many turns as this loop makes meanwhile.
    private static let mostFlowTurns = 1_000_000
    /// Waits until no work is pending, without letting time pass.
    func settle(on loop: isolated EventLoop) async throws {
        var seen = (-1, -1)
        var (turns, flowTurns) = (0, 0)
        while seen != (journal.operations, gateway.requests.count) || hasDueTimer(on: loop) || loop.flowsInMotion > 0 {
            seen = (journal.operations, gateway.requests.count)
            if loop.flowsInMotion > 0 { flowTurns += 1 } else { turns += 1 }
            await turn(on: loop)
            guard turns < Self.mostTurns, flowTurns < Self.mostFlowTurns else { throw Restless() }
        }
    }

    /// Lets time pass; each timer on the way runs at its own time.
    func advance(_ milliseconds: Int64, on loop: isolated EventLoop) async throws {
        let end = clock.monotonic + UInt64(milliseconds) * 1_000_000
        try await settle(on: loop)
        while let next = loop.nextDeadline, next <= end {
            clock.move(to: next)
            try await settle(on: loop)
        }
        clock.move(to: end)
        try await settle(on: loop)
    }

    private func hasDueTimer(on loop: isolated EventLoop) -> Bool {
        loop.nextDeadline.map { $0 <= clock.monotonic } ?? false
    }

    /// One turn of the loop, with its timers and posts.
    private func turn(on loop: isolated EventLoop) async {
        await withCheckedContinuation { continuation in
            loop.post { _ in continuation.resume() }
        }
    }

    // MARK: The process

    func start(on loop: isolated EventLoop) async throws {
        services.start(on: loop) { [weak self] in self?.mayOpen = true }
        try await settle(on: loop)
    }

    /// A new process with the database of this one. The gateway's events no longer reach the old services.
    func restart(on loop: isolated EventLoop) async throws {
        gateway.isOnline = false
        gateway.hello = nil
        gateway.endOpenCalls()
        try await settle(on: loop)
        mayOpen = false
        published = []
        if let kept = try? await SessionDefaults.kept(in: journal) { settings.defaults = kept }
        services = Services(settings, gateway: gateway, journal: journal)
        services.events.add(self)
        try await start(on: loop)
    }

    /// A new process with other settings.
    func restart(
        without change: (inout ServiceSettings) -> Void,
        on loop: isolated EventLoop
    ) async throws {
        change(&settings)
        try await restart(on: loop)
    }

    /// Starts a new process after a kill: pending work of the old services reaches neither the database nor the
    /// gateway.
    func kill(on loop: isolated EventLoop) async throws {
        journal.dropHeld()
        gateway.forgetOpenCalls()
        try await restart(on: loop)
    }

    // MARK: The link

    func open(
        version: Int = 4,
        uptimeMs: Int64? = nil,
        methods: [String] = ["sessions.subscribe"],
        on loop: isolated EventLoop
    ) async throws {
        let uptimeMs = uptimeMs ?? 3_600_000 + clock.elapsedMs
        let text = """
            {"type":"hello-ok","protocol":\(version),"features":{"methods":[\(methods.map { "\"\($0)\"" }.joined(separator: ","))]},\
            "snapshot":{"uptimeMs":\(uptimeMs),"sessionDefaults":{"defaultAgentId":"main","mainKey":"main",\
            "mainSessionKey":"agent:main:main"}}}
            """
        guard let hello = Hello(json(text), requested: []) else { preconditionFailure("no hello") }
        try await open(hello, on: loop)
    }

    func open(_ hello: Hello, on loop: isolated EventLoop) async throws {
        gateway.hello = hello
        gateway.measureClock(on: loop)
        gateway.isOnline = true
        gateway.status = status(.online, on: loop)
        gateway.status.features = GatewayProfile(hello).features
        services.events.notify(.linkChanged(gateway.status), on: loop)
        services.events.notify(.linkOpened(hello), on: loop)
        try await settle(on: loop)
    }

    func drop(_ state: LinkState = .offline, code: String? = nil, on loop: isolated EventLoop) async throws {
        gateway.isOnline = false
        gateway.endOpenCalls()
        var status = status(state, on: loop)
        status.code = code
        gateway.status = status
        services.events.notify(.linkChanged(status), on: loop)
        try await settle(on: loop)
    }

    private func status(_ state: LinkState, on loop: isolated EventLoop) -> LinkStatus {
        LinkStatus(state: state, detail: "the test says so", since: loop.wallClock, url: nil)
    }

    func event(_ name: String, _ payload: String, on loop: isolated EventLoop) async throws {
        services.events.notify(.gatewayEvent(GatewayEvent(name: name, json(#"{"payload":\#(payload)}"#))), on: loop)
        try await settle(on: loop)
    }

    /// Delivers the gateway's event for a row of the main session.
    func row(_ row: String, on loop: isolated EventLoop) async throws {
        try await event("session.message", #"{"sessionKey":"main","message":\#(row)}"#, on: loop)
    }

    // MARK: Messages and entries

    /// Accepts a message as from a request; nil if the outbox refuses it.
    @discardableResult
    func accept(
        _ text: String,
        body: String? = nil,
        session: String = main,
        kind: OutboxKind = .message,
        ttlMs: Int64 = 48 * 3_600_000,
        notBeforeMs: Int64? = nil,
        limits: OutboxLimits = OutboxLimits(),
        mode: MessageMode = .own,
        on loop: isolated EventLoop
    ) async throws -> String? {
        lastID += 1
        let start = notBeforeMs.map { loop.wallClock.adding(milliseconds: $0) }
        let entry = OutboxEntry(
            id: UUIDv7.make(milliseconds: loop.wallClock.milliseconds, random: [UInt8(lastID)]),
            kind: kind,
            session: session,
            text: text,
            createdAt: loop.wallClock,
            expiresAt: (start ?? loop.wallClock).adding(milliseconds: ttlMs),
            notBefore: start,
            mode: mode
        )
        var accepted: OutboxEntry?
        let payload = OutboxTable.Payload(text: text, body: body.map { Array($0.utf8) })
        services.feed.commit(on: loop) { transaction in
            try transaction.enqueue(entry, payload: payload, limits: limits)
        } completion: { [self] result in
            guard case .success(.accepted(let stored)) = result else { return }
            accepted = stored
            services.events.notify(.entryAccepted(stored), on: loop)
        }
        try await settle(on: loop)
        return accepted?.id
    }

    /// The entry in the database.
    func entry(_ id: String?) async throws -> OutboxEntry {
        let found = try await journal.read { tables in try id.flatMap { try tables.outbox.entry(id: $0) } }
        guard let found else { throw StoreError.unavailable("no entry \(id ?? "")") }
        return found
    }

    func state(_ id: String?) async throws -> OutboxState { try await entry(id).state }

    func attempts(_ id: String?) async throws -> [AttemptClass] {
        try await journal.read { tables in try tables.outbox.attempts(id: id ?? "").map(\.outcome) }
    }

    func cancel(_ id: String?, force: Bool = false, version: Int64? = nil, on loop: isolated EventLoop) async throws
        -> Result<OutboxEntry, OutboxRefusal>?
    {
        var answer: Result<OutboxEntry, OutboxRefusal>?
        services.outbox.cancel(id ?? "", force: force, expectedVersion: version, on: loop) { answer = $0 }
        try await settle(on: loop)
        return answer
    }

    func retry(_ id: String?, version: Int64? = nil, on loop: isolated EventLoop) async throws
        -> Result<OutboxEntry, OutboxRefusal>?
    {
        var answer: Result<OutboxEntry, OutboxRefusal>?
        services.outbox.retry(id ?? "", expectedVersion: version, on: loop) { answer = $0 }
        try await settle(on: loop)
        return answer
    }

    // MARK: Documents

    func document(_ kind: DocumentKind, refresh: Bool = false, on loop: isolated EventLoop) async throws
        -> DocumentService.Copy?
    {
        var copy: DocumentService.Copy?
        let name = DocumentService.Name(agent: "main", kind: kind)
        loop.start { [services] in copy = try? await services.documents.read(name, refresh: refresh, on: loop) }
        try await settle(on: loop)
        return copy
    }

    func write(
        _ change: DocumentWrite.Change,
        _ kind: DocumentKind = .identity,
        if condition: DocumentCondition = .any,
        on loop: isolated EventLoop
    ) async throws -> WriteOutcome? {
        var outcome: WriteOutcome?
        begin(change, kind, if: condition, on: loop) { outcome = $0 }
        try await settle(on: loop)
        return outcome
    }

    typealias WriteOutcome = Result<(DocumentService.Copy, DocumentWrite.Path?), DocumentFault>

    func begin(
        _ change: DocumentWrite.Change,
        _ kind: DocumentKind = .identity,
        if condition: DocumentCondition = .any,
        on loop: isolated EventLoop,
        then done: @escaping (WriteOutcome) -> Void
    ) {
        let name = DocumentService.Name(agent: "main", kind: kind)
        let write = DocumentWrite(services.documents, name, change, if: condition)
        loop.start {
            do throws(DocumentFault) {
                done(.success(try await write.carryOut(on: loop)))
            } catch {
                done(.failure(error))
            }
        }
    }

    // MARK: Events

    func types(since place: Int = 0) -> [String] { published[place...].map(\.type) }

    func data(_ type: String) -> [JSONValue] {
        published.filter { $0.type == type }.map { json(String(decoding: $0.data, as: UTF8.self)) }
    }

    /// The published messages: role or id, state and text as the stream shows them.
    var messages: [JSONValue] { data("message").compactMap { $0["message"] } }
}

/// A loop occupies a thread, and libdispatch has at most 255: if all tests began at once, the last would wait for
/// minutes.
private let turnstile = Turnstile(8)

/// Runs a test on a loop of its own, with all services started.
func withServices<Value: Sendable>(
    _ settings: ServiceSettings = ServiceSettings(),
    startingAt start: Timestamp = ManualClock.start,
    _ test: @Sendable (ServiceBench, isolated EventLoop) async throws -> Value
) async throws -> Value {
    await turnstile.enter()
    let clock = ManualClock(wallStart: start)
    let result: Result<Value, any Error>
    do {
        let loop = try EventLoop(label: "test.services", clock: clock.loopClock)
        loop.start()
        do {
            result = .success(try await run(test, settings, clock, on: loop))
        } catch {
            result = .failure(error)
        }
        await loop.stop()
    } catch {
        result = .failure(error)
    }
    await turnstile.leave()
    return try result.get()
}

/// The same with an open link to the gateway.
func withLinkedServices(
    _ settings: ServiceSettings = ServiceSettings(),
    _ test: @Sendable (ServiceBench, isolated EventLoop) async throws -> Void
) async throws {
    try await withServices(settings) { bench, loop in
        try await bench.open(on: loop)
        try await test(bench, loop)
    }
}

private func run<Value: Sendable>(
    _ test: @Sendable (ServiceBench, isolated EventLoop) async throws -> Value,
    _ settings: ServiceSettings,
    _ clock: ManualClock,
    on loop: isolated EventLoop
) async throws -> Value {
    let bench = try ServiceBench(clock: clock, settings)
    try await bench.start(on: loop)
    let value = try await test(bench, loop)
    #expect(bench.gateway.misfits.isEmpty, "the gateway would refuse \(Set(bench.gateway.misfits).sorted())")
    return value
}
