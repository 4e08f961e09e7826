package import Activity
package import Basics
import Store
package import EventLoops
import JSONBytes
package import Labels
package import Observability
import Outbox
package import Gateway
package import Upstream

/// Hears the link: runs go to the run book and from there to rows and events, the outbox learns what proves its entries.
package final class GatewayEvents: UpstreamLinkHandler {
    /// Where a gateway gives no live tool events, history is asked this often, while a run is active.
    private static let pollMilliseconds: Int64 = 500
    private static let tickMilliseconds: Int64 = 1000
    /// The newest rows: what one run can have written since the last look.
    private static let pollRows = 50
    /// Sessions whose history is on its way at a time, so that other questions find room.
    private static let mostPolls = 16
    /// How far two clocks that were compared may still be apart.
    private static let slackMilliseconds: Int64 = 2000
    /// Events that a gap swallowed are about what was said this short a while ago.
    private static let gapMilliseconds: Int64 = 60_000

    private let link: UpstreamLink
    let pipeline: EventPipeline
    private let outbox: OutboxService
    package let live: RunPublisher
    var book: RunTracker
    private var polling: Set<SessionKey> = []
    private var lastPolled: SessionKey?
    private var ticker: TimerID?
    private(set) var wasOnline = false
    private var lostAt: Timestamp?
    var former = OrphanedRuns()
    package var log = Log.none
    /// The link's state as the log told it last.
    var loggedLink: LinkStatus?
    /// Where device tokens are kept; writes the file off the loop.
    package var keepTokens: ((DeviceTokenStore) -> Void)?
    /// The link has another state.
    package var linkMoved: ((LinkStatus) -> Void)?
    /// A run has ended; its event is on its way.
    package var runEnded: ((Run) -> Void)?
    /// Identity and profile follow the link, and the runs that may have written them.
    package var documents: DocumentService?
    /// What was said since then, by the gateway's clock, may not have been heard.
    package var missed: ((Timestamp) -> Void)?
    /// Other events, for those who follow sessions, approvals and nodes.
    package var received: ((GatewayEvent) -> Void)?

    package init(
        link: UpstreamLink,
        pipeline: EventPipeline,
        outbox: OutboxService,
        live: RunPublisher,
        labels: LabelTable,
        on loop: isolated EventLoop
    ) {
        self.link = link
        self.pipeline = pipeline
        self.outbox = outbox
        self.live = live
        book = RunTracker(labels: labels)
        link.handler = self
        pipeline.heldBack = { [weak link] isHeld in link?.holdInput(isHeld, on: loop) }
        outbox.dispatched = { [weak self] entry, key in
            self?.sent(entry, key: key, now: loop.wallClock)
        }
        outbox.refused = { [weak self] key in self?.book.sendFailed(key) }
    }

    /// What `main` and bare keys mean.
    package var defaults: SessionDefaults {
        get { book.defaults }
        set {
            book.defaults = newValue
            live.defaults = newValue
            documents?.defaultAgent = newValue.agent
        }
    }

    package func resolved(_ run: String) -> String { book.resolved(run) }
    package func run(_ id: String) -> Run? { book.run(id) }

    /// Newest first.
    package func runs(activeOnly: Bool = false, session: String? = nil) -> [Run] {
        book.runs(activeOnly: activeOnly, session: session.map { SessionKey(canonical: $0) })
    }

    /// For what is worked out from the book as it stands.
    package func reading<Value>(_ body: (RunTracker) -> Value) -> Value { body(book) }

    package func hide(_ id: String) { book.hide(id) }
    package func isHidden(_ id: String) -> Bool { book.isHidden(id) }
    /// A key in a frame, whatever its spelling.
    package func canonical(_ key: String) -> SessionKey { book.defaults.tolerant(key) }

    private func sent(_ entry: OutboxEntry, key: String, now: Timestamp) {
        book.sent(key, session: book.defaults.tolerant(entry.session), text: entry.text ?? "", now: now)
    }

    // MARK: UpstreamLinkHandler

    package func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop) {
        tellLog(status)
        if wasOnline, status.state != .online {
            wasOnline = false
            lostAt = gatewayTime(on: loop)
            book.linkLost()
            documents?.linkClosed()
        }
        linkMoved?(status)
        pipeline.pass(
            HubEvent(transient: "link", at: loop.wallClock) { $0.member("link", status) },
            on: loop
        )
        guard status.state != .online else { return }
        outbox.linkIs(LinkCondition(status), on: loop)
    }

    package func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {
        wasOnline = true
        let defaults = SessionDefaults(
            agent: hello.defaultAgentId ?? "main",
            mainKey: hello.mainKey ?? "main",
            mainSession: hello.mainSessionKey
        )
        if defaults != self.defaults { defaults.keep(in: pipeline.store, now: loop.wallClock) }
        self.defaults = defaults
        book.tellsRows = hello.methods.contains("sessions.subscribe")
        tellUnderWay(hello, on: loop)
        outbox.linkIs(
            .online(LinkFacts(protocolVersion: hello.protocolVersion, identity: nil, uptimeMs: hello.uptimeMs)),
            on: loop
        )
        documents?.refreshAll(on: loop)
        if let lostAt { missed?(lostAt.adding(milliseconds: -Self.slackMilliseconds)) }
        lostAt = nil
        former.online(now: loop.wallClock)
        poll(on: loop)
        keepTicking(on: loop)
    }

    /// The outbox is to wait for what goes on, also for what began before this connection. What another process of the
    /// gateway worked on ended with that.
    private func tellUnderWay(_ hello: Hello, on loop: isolated EventLoop) {
        let start = hello.uptimeMs.map { gatewayTime(on: loop).milliseconds &- $0 &- Self.slackMilliseconds } ?? .min
        for run in book.underWay where run.since.milliseconds >= start { tell(run, on: loop) }
    }

    private func tell(_ run: RunTracker.UnderWay, on loop: isolated EventLoop) {
        outbox.run(run.id, in: run.session.text, run.isDeferred ? .deferred : .active, on: loop)
    }

    package func linkReceived(_ event: GatewayEvent, on loop: isolated EventLoop) {
        if let payload = event.payload {
            prove(event.name, payload, on: loop)
            tell(book.receive(event: event.name, payload: payload, now: loop.wallClock), on: loop)
            if book.takePageDue() { poll(on: loop) }
        }
        documents?.asker.received(event, on: loop)
        received?(event)
        keepTicking(on: loop)
    }

    package func linkLost(events: Int64, on loop: isolated EventLoop) {
        book.framesLost()
        poll(on: loop)
        missed?(gatewayTime(on: loop).adding(milliseconds: -Self.gapMilliseconds))
    }

    private func gatewayTime(on loop: isolated EventLoop) -> Timestamp {
        loop.wallClock.adding(milliseconds: link.clockSkewMs)
    }

    package func linkLearned(_ outcome: CallOutcome, of call: CallID, on loop: isolated EventLoop) {
        outbox.learned(outcome, of: call, on: loop)
    }

    package func linkTokensChanged(_ tokens: DeviceTokenStore, on loop: isolated EventLoop) {
        keepTokens?(tokens)
    }

    // MARK: Runs

    /// Any event of a run whose id is one of our keys shows that the gateway took the message.
    private func prove(_ name: String, _ payload: JSONValue, on loop: isolated EventLoop) {
        switch name {
        case "agent", "chat", "session.tool":
            guard let run = payload["runId"]?.string else { return }
            former.heard(run)
            guard UUIDv7.isWellFormed(String(run.prefix(36))) else { return }
            outbox.saw(key: run, .runEvent, on: loop)
        case "session.message":
            let message = payload["message"]
            let key = message?["idempotencyKey"]?.string ?? message?["__openclaw"]?["idempotencyKey"]?.string
            if let key { outbox.saw(key: key, .messageEvent, on: loop) }
        default: return
        }
    }

    private func tell(_ changes: [RunChange], on loop: isolated EventLoop) {
        for change in changes {
            switch change {
            case .started(let run):
                live.tell(change, of: run, on: loop)
                outbox.run(run.id, in: run.session.text, .active, on: loop)
            case .ended(let run):
                KillPoint.reach("run.ended")
                live.tell(change, of: run, on: loop)
                outbox.run(run.id, in: run.session.text, .ended, on: loop)
                if Self.mayHaveWritten(run) { documents?.refreshAll(on: loop) }
                runEnded?(run)
            case .stepChanged(let step):
                if let run = book.run(step.runID) { live.tell(change, of: run, on: loop) }
            case .textAppended(let id, _, _), .textReplaced(let id, _):
                if let run = book.run(id) { live.tell(change, of: run, on: loop) }
            case .deferred(let id, let session): outbox.run(id, in: session.text, .deferred, on: loop)
            case .reassigned(let id, let answer):
                guard let run = book.run(answer) else { continue }
                outbox.run(id, in: run.session.text, .answered(by: answer), on: loop)
            }
        }
    }

    /// One of the two files is named by a step.
    private static func mayHaveWritten(_ run: Run) -> Bool {
        run.steps.contains { step in
            let text = step.label + (step.detail ?? "")
            return text.contains("IDENTITY.md") || text.contains("USER.md")
        }
    }

    // MARK: Looking into history

    func keepTicking(on loop: isolated EventLoop) {
        guard ticker == nil, book.activeCount > 0 else { return }
        let wait = book.sessionsToPoll.isEmpty ? Self.tickMilliseconds : Self.pollMilliseconds
        ticker = loop.after(milliseconds: wait) { [weak self] in
            guard let self else { return }
            self.ticker = nil
            self.tell(self.book.tick(now: loop.wallClock), on: loop)
            for run in self.book.takeHeard() { self.tell(run, on: loop) }
            for id in self.former.due(now: loop.wallClock) {
                self.tell(self.book.giveUp(id, now: loop.wallClock), on: loop)
            }
            self.poll(on: loop)
            self.keepTicking(on: loop)
        }
    }

    func poll(on loop: isolated EventLoop) {
        guard link.isOnline else { return }
        let wanted = book.sessionsToPoll
        let turn = lastPolled.flatMap { last in wanted.firstIndex { $0 > last } } ?? 0
        for session in wanted[turn...] + wanted[..<turn] where polling.count < Self.mostPolls {
            guard polling.insert(session).inserted else { continue }
            lastPolled = session
            link.call(ChatHistory(sessionKey: session.text, limit: Self.pollRows), on: loop) { [weak self] result in
                guard let self else { return }
                self.polling.remove(session)
                guard case .success(let page) = result else { return }
                self.tell(self.book.receive(history: page.whole, session: session, now: loop.wallClock), on: loop)
            }
        }
    }
}

extension LinkCondition {
    init(_ status: LinkStatus) {
        switch status.state {
        case .connecting, .online: self = .connecting
        case .waitingForApproval, .refused: self = .blocked(reason: status.code ?? status.detail)
        case .offline: self = .offline(detail: status.detail)
        }
    }
}
