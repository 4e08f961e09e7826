import Basics
import Dispatch
package import EventLoops
package import Gateway
import JSONBytes
package import Ledger
package import Observability
package import POSIX
package import TLS

/// Receives the link's reports. All calls come on the link's loop, in the order of the events.
package protocol UpstreamLinkHandler: AnyObject {
    func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop)
    /// A connection is ready and subscriptions are renewed. Reload everything that may have changed since the last one.
    func linkOpened(_ hello: Hello, on loop: isolated EventLoop)
    func linkReceived(_ event: GatewayEvent, on loop: isolated EventLoop)
    /// Events were lost: reload the data they may have changed.
    func linkLost(events: Int64, on loop: isolated EventLoop)
    /// The final outcome of a request that was reported as ambiguous before.
    func linkLearned(_ outcome: CallOutcome, of call: CallID, on loop: isolated EventLoop)
    /// The tokens to keep on disk. Write them off the loop.
    func linkTokensChanged(_ tokens: DeviceTokenStore, on loop: isolated EventLoop)
    /// A frame was added to the frame log.
    func linkLogged(_ entry: LoggedFrame, on loop: isolated EventLoop)
}

/// The one connection to the gateway, on a loop: opens sockets, moves bytes and arms the timer. `LinkMachine` makes all
/// decisions.
package final class UpstreamLink {
    /// Room for one frame of the largest size that a gateway allows, beside the bytes that wait already.
    private static let sendLimit = 160 << 20

    private var machine: LinkMachine
    private var connection: LinkConnection?
    /// Addresses that the current attempt has not tried yet.
    private var addresses: [SocketAddress] = []
    private var attempt: UInt64 = 0
    private var rotation = AddressRotation()
    private var timer: (id: TimerID, at: Int64)?
    private var completions: [CallID: (method: String, report: (CallOutcome) -> Void)] = [:]
    /// The names of all that the gateway sent.
    package private(set) var names = GatewayNames()
    private var nextCall: UInt64 = 1
    /// Actions still to perform, in order. Handlers and completions may add actions while the list is worked off.
    private var actions: [LinkAction] = []
    private var isPerforming = false
    private let trust: TLSTrust?
    /// Nil where no other process could act for the same gateway.
    private let permit: Permit?
    /// Parses large messages, one at a time.
    private let parser = DispatchQueue(label: "ladle.link.parser")
    /// The services are full, so nothing is read from this connection.
    private var isHeld = false
    /// The connection with a message that is parsed beside the loop. Nothing more is read before that.
    private var parsing: UInt64?
    package weak var handler: (any UpstreamLinkHandler)?

    /// - Parameter trust: replaces the system's certificate authorities if no pin is set; for tests.
    package init(
        target: LinkTarget,
        signer: any DeviceSigner,
        tokens: DeviceTokenStore = DeviceTokenStore(),
        log: FrameLog? = nil,
        trust: TLSTrust? = nil,
        permit: Permit? = nil,
        on loop: isolated EventLoop
    ) {
        self.trust = trust
        self.permit = permit
        machine = LinkMachine(target: target, signer: signer, tokens: tokens, log: log, now: Self.time(loop))
    }

    package var status: LinkStatus { machine.status }
    /// The last hello, kept while the gateway is away.
    package var hello: Hello? { machine.hello }
    package var profile: GatewayProfile? { machine.profile }
    package var counters: LinkCounters { machine.counters }
    package var isOnline: Bool { machine.isOnline }
    package var pendingCalls: Int { completions.count }
    package var target: LinkTarget { machine.target }
    /// Whether the link waits until another gateway or other secrets are configured.
    package var needsNewTarget: Bool { machine.needsNewTarget }
    /// The frames kept after this number; nil while frames are not kept.
    package func frames(after number: Int64) -> ArraySlice<LoggedFrame>? { machine.log?.after(number) }

    /// How far the gateway's clock is ahead of ours.
    package func clockSkewMs(on loop: isolated EventLoop) -> Int64 { machine.clockSkewMs(at: Self.time(loop)) }
    package var openingMs: Int64? { machine.openingMs }

    /// The hint for a call that failed with `missingScope`.
    package func hint(toGain scope: String) -> String {
        let requested = machine.configuration?.scopes ?? []
        return Scopes.hint(toGain: scope, requested: requested, deviceId: machine.deviceId)
    }

    package var scopesToGain: [String]? { machine.scopesToGain }

    package func awaitsScopes(request: String, on loop: isolated EventLoop) {
        perform(machine.awaitsScopes(request: request), on: loop)
    }

    package func gainedScopes(_ token: DeviceToken?, on loop: isolated EventLoop) {
        perform(machine.gainedScopes(token, now: Self.time(loop)), on: loop)
    }

    // MARK: Commands

    package func start(on loop: isolated EventLoop) {
        perform(machine.start(now: Self.time(loop)), on: loop)
    }

    package func configure(_ target: LinkTarget, on loop: isolated EventLoop) {
        perform(machine.configure(target, now: Self.time(loop)), on: loop)
    }

    package func retryNow(on loop: isolated EventLoop) {
        perform(machine.retryNow(now: Self.time(loop)), on: loop)
    }

    package func stop(on loop: isolated EventLoop) {
        perform(machine.stop(now: Self.time(loop)), on: loop)
    }

    /// Closes the connection without another byte, once this process may no longer act. The link tries again as after any loss, and comes no
    /// further as long as the permit is gone.
    package func cut(on loop: isolated EventLoop) { connection?.stream.close(on: loop) }

    /// Stops reading from this connection for a while. Incoming data waits in the kernel and at the gateway.
    package func holdInput(_ isHeld: Bool, on loop: isolated EventLoop) {
        guard connection != nil else { return }
        machine.holdInput(isHeld, now: Self.time(loop))
        self.isHeld = isHeld
        updateInput(on: loop)
        armTimer(on: loop)
    }

    private func updateInput(on loop: isolated EventLoop) {
        guard let stream = connection?.stream else { return }
        if isHeld || parsing != nil { stream.pauseInput(on: loop) } else { stream.resumeInput(on: loop) }
    }

    /// Sends one request. `completion` is called on the loop exactly once. `params` is one JSON object.
    @discardableResult
    package func call(
        method: String,
        params: [UInt8],
        timeoutMs: Int64 = 30_000,
        on loop: isolated EventLoop,
        completion: @escaping (CallOutcome) -> Void
    ) -> CallID {
        let id = CallID(nextCall)
        nextCall += 1
        completions[id] = (method, completion)
        let time = Self.time(loop)
        perform(machine.request(id, method: method, params: params, timeoutMs: timeoutMs, now: time), on: loop)
        return id
    }

    // MARK: Reports from the connection

    func opened(on loop: isolated EventLoop) {
        addresses = []
        rotation.opened()
        perform(machine.opened(now: Self.time(loop)), on: loop)
    }

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        guard permit?.holds != false else { return cut(on: loop) }
        perform(machine.received(bytes, now: Self.time(loop)), on: loop)
    }

    func drained(on loop: isolated EventLoop) { reportOutput(on: loop) }

    private func reportOutput(on loop: isolated EventLoop) {
        guard let stream = connection?.stream else { return }
        let time = Self.time(loop)
        perform(machine.output(unsent: stream.waitingBytes, taken: stream.takenBytes, now: time), on: loop)
    }

    func failed(_ failure: Rejection.TransportFailure, on loop: isolated EventLoop) {
        connection = nil
        // A host may have several addresses. The attempt fails when the last of them has failed.
        if !addresses.isEmpty, case .unreachable = failure { return connectNext(on: loop) }
        perform(machine.transportFailed(failure, now: Self.time(loop)), on: loop)
    }

    // MARK: Performing actions

    private func perform(_ more: [LinkAction], on loop: isolated EventLoop) {
        actions += more
        guard !isPerforming else { return }
        isPerforming = true
        var next = 0
        while next < actions.count {
            let action = actions[next]
            next += 1
            switch action {
            case .open(let url): open(url, on: loop)
            case .write(let bytes): write(bytes, on: loop)
            case .close: close(on: loop)
            case .parse(let number, let bytes): parse(number, bytes, on: loop)
            case .status(let status): handler?.linkChanged(status, on: loop)
            case .hello(let hello): handler?.linkOpened(hello, on: loop)
            case .event(let event):
                names.saw(event)
                handler?.linkReceived(event, on: loop)
            case .gap(let expected, let received): handler?.linkLost(events: received - expected, on: loop)
            case .outcome(let id, let outcome): finish(id, outcome)
            case .late(let id, let outcome): handler?.linkLearned(outcome, of: id, on: loop)
            case .storeTokens(let tokens): handler?.linkTokensChanged(tokens, on: loop)
            case .logged(let entry): handler?.linkLogged(entry, on: loop)
            }
        }
        actions.removeAll(keepingCapacity: actions.capacity <= 64)
        isPerforming = false
        armTimer(on: loop)
    }

    private func finish(_ id: CallID, _ outcome: CallOutcome) {
        guard let call = completions.removeValue(forKey: id) else { return }
        names.saw(outcome, of: call.method)
        call.report(outcome)
    }

    private func write(_ bytes: [UInt8], on loop: isolated EventLoop) {
        guard let connection else { return }
        switch connection.stream.send(bytes, on: loop) {
        case .sent, .queued: reportOutput(on: loop)
        case .closed: break
        // The connection reports this end like any other.
        case .overflow: connection.stream.close(on: loop)
        }
    }

    private func close(on loop: isolated EventLoop) {
        isHeld = false
        parsing = nil
        addresses = []
        attempt += 1
        let last = connection
        connection = nil
        last?.detach(on: loop)
    }

    /// Parses off the loop. Nothing more is read meanwhile, so messages keep their order and none pile up.
    private func parse(_ number: UInt64, _ bytes: [UInt8], on loop: isolated EventLoop) {
        parsing = number
        updateInput(on: loop)
        let bound = LoopBound(self, on: loop)
        parser.async { [parser] in
            let document = try? JSONDocument(parsing: bytes, limits: .gateway)
            loop.post { loop in
                bound.value(on: loop)?.parsed(number, document, size: bytes.count, on: loop)
                // Freeing a large document takes a while too, so the last reference goes elsewhere.
                parser.async { _ = document }
            }
        }
    }

    private func parsed(_ number: UInt64, _ document: JSONDocument?, size: Int, on loop: isolated EventLoop) {
        guard parsing == number else { return }
        parsing = nil
        perform(machine.parsed(number, document, size: size, now: Self.time(loop)), on: loop)
        updateInput(on: loop)
    }

    // MARK: Opening

    private func open(_ url: GatewayURL, on loop: isolated EventLoop) {
        attempt += 1
        if let address = SocketAddress(host: url.host, port: url.port) {
            addresses = [address]
            return connectNext(on: loop)
        }
        let number = attempt
        let bound = LoopBound(self, on: loop)
        Resolver.resolve(host: url.host, port: url.port, for: loop) { found, loop in
            guard let link = bound.value(on: loop), link.attempt == number else { return }
            link.addresses = link.rotation.order(found)
            guard !found.isEmpty else { return link.failed(.nameNotFound("unknown name"), on: loop) }
            link.connectNext(on: loop)
        }
    }

    private func connectNext(on loop: isolated EventLoop) {
        guard !addresses.isEmpty, let url = machine.configuration?.url else { return }
        let address = addresses.removeFirst()
        guard permit?.holds != false else {
            addresses = []
            return later(.unreachable("this host has lost the lease"), on: loop)
        }
        do {
            let session = try session(for: url)
            let stream = StreamConnection(
                try Socket.connect(to: address),
                tls: session,
                isConnected: false,
                sendLimit: Self.sendLimit,
                permit: permit
            )
            let connection = LinkConnection(stream, session: session, isPinned: url.pin != nil, link: self)
            self.connection = connection
            try stream.start(connection, on: loop)
        } catch let error as SystemError {
            later(.unreachable(error.reason), on: loop)
        } catch {
            later(.tls("\(error)"), on: loop)
        }
    }

    /// Reports the failure in a later turn, because the machine is still in the middle of the action that led here.
    private func later(_ failure: Rejection.TransportFailure, on loop: isolated EventLoop) {
        let number = attempt
        loop.after(milliseconds: 0) { [weak self] in
            guard let self, self.attempt == number else { return }
            self.failed(failure, on: loop)
        }
    }

    private func session(for url: GatewayURL) throws(TLSError) -> TLSSession? {
        guard url.isTLS else { return nil }
        let pin = url.pin.flatMap { Hex.decode($0) }
        let context = try TLSClientContext(trust: pin.map { .pin(sha256: $0) } ?? trust ?? .system)
        return try context.makeSession(host: url.host)
    }

    // MARK: Time

    private static func time(_ loop: isolated EventLoop) -> LinkTime {
        LinkTime(milliseconds: Int64(loop.now / 1_000_000), wall: loop.wallClock)
    }

    /// Keeps one timer and moves it only to an earlier time, because nearly every frame postpones most deadlines.
    private func armTimer(on loop: isolated EventLoop) {
        guard let at = machine.wakeAt else { return }
        if let timer, timer.at <= at { return }
        if let timer { loop.cancel(timer.id) }
        let wait = max(at - Int64(loop.now / 1_000_000), 0)
        let id = loop.after(milliseconds: wait) { [weak self] in
            guard let self else { return }
            self.timer = nil
            self.reportOutput(on: loop)
            self.perform(self.machine.wake(now: Self.time(loop)), on: loop)
        }
        timer = (id, at)
    }
}
