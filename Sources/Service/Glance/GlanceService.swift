package import Basics
import Documents
package import EventLoops
import Gateway
import Observability
import Outbox
import Runs

/// Keeps the data for small displays. It is built from memory alone, at most four times a second per reader, and asks
/// neither the gateway nor the disk.
package final class GlanceService {
    /// Readers with equal rights share one view.
    package struct Reader: Hashable {
        /// The sessions the reader may see; nil for all.
        let sessions: SessionSet?
        /// The name of the reader's read marks; nil if it has none. Unread counts differ between readers.
        let marker: String?
    }

    private struct View {
        var glance: Glance
        /// The time of the last change.
        var at: Timestamp
        /// The number of changes.
        var version: UInt64
        /// The build time on the loop's clock.
        var builtAt: UInt64
        /// The services' revision at that time.
        var revision: UInt64
    }

    private struct Observer {
        let reader: Reader
        /// The version the observer has seen.
        var version: UInt64
        let tell: () -> Void
    }

    private static let shortestBetweenMs: UInt64 = 250
    /// The most by which values that change with time alone, such as the end of a usage window, are late.
    private static let longestLifeMs: UInt64 = 1_000
    /// A household has some ten tokens. Above this, the view built longest ago is dropped.
    private static let mostViews = 256
    /// An older answer about subscriptions says little about now.
    private static let longestUsageAgeMs: UInt64 = 3_600_000

    private unowned let gateway: any GatewayCalls
    private let events: ServiceEvents
    private let runs: RunService
    private let approvals: ApprovalService
    private let questions: QuestionService
    private let outbox: OutboxService
    private let model: SessionModel
    private let marks: ReadMarks
    private let documents: DocumentService
    private let usage: UsageService
    private var views: [Reader: View] = [:]
    private var observers: [UInt64: Observer] = [:]
    private var lastObserver: UInt64 = 0
    private var isLooking = false
    private var isWatching = false
    /// The last read identity file of the default agent.
    private var identity: (bytes: [UInt8], agent: Glance.Agent)?
    /// The number of builds since the start.
    package private(set) var builds: UInt64 = 0

    init(
        gateway: any GatewayCalls,
        events: ServiceEvents,
        runs: RunService,
        approvals: ApprovalService,
        questions: QuestionService,
        outbox: OutboxService,
        model: SessionModel,
        marks: ReadMarks,
        documents: DocumentService,
        usage: UsageService
    ) {
        self.gateway = gateway
        self.events = events
        self.runs = runs
        self.approvals = approvals
        self.questions = questions
        self.outbox = outbox
        self.model = model
        self.marks = marks
        self.documents = documents
        self.usage = usage
    }

    // MARK: Reading

    /// - Parameters:
    ///   - sessions: the sessions the reader may see; nil for all.
    ///   - name: the name of its read marks.
    package func reader(of sessions: SessionSet?, named name: String) -> Reader {
        Reader(sessions: sessions, marker: marks.knows(name) ? name : nil)
    }

    package func encoded(
        for reader: Reader,
        as form: GlanceForm,
        on loop: isolated EventLoop
    ) -> GlanceEncoder.Encoded {
        if reader.sessions == nil, form.showsUsage { usage.glanced(on: loop) }
        let view = view(for: reader, on: loop)
        return GlanceEncoder.encode(view.glance, as: form, at: view.at)
    }

    private func view(for reader: Reader, on loop: isolated EventLoop) -> View {
        let known = views[reader]
        if let known {
            let age = (loop.now - known.builtAt) / 1_000_000
            if age < Self.shortestBetweenMs { return known }
            if known.revision == events.revision, age < Self.longestLifeMs { return known }
        }
        builds += 1
        let glance = build(for: reader, on: loop)
        let isNews = known?.glance != glance
        let view = View(
            glance: glance,
            at: isNews ? loop.wallClock : known?.at ?? loop.wallClock,
            version: (known?.version ?? 0) + (isNews ? 1 : 0),
            builtAt: loop.now,
            revision: events.revision
        )
        if known == nil, views.count >= Self.mostViews,
            let oldest = views.min(by: { $0.value.builtAt < $1.value.builtAt })
        {
            views[oldest.key] = nil
        }
        views[reader] = view
        return view
    }

    // MARK: Waiting

    /// Calls `tell` after each change of the reader's view, until stopped.
    package func observe(_ reader: Reader, on loop: isolated EventLoop, _ tell: @escaping () -> Void) -> UInt64 {
        lastObserver += 1
        let version = view(for: reader, on: loop).version
        observers[lastObserver] = Observer(reader: reader, version: version, tell: tell)
        // Something may have happened since the view was built.
        changed(on: loop)
        watch(on: loop)
        return lastObserver
    }

    package func stopObserving(_ observer: UInt64) { observers[observer] = nil }

    /// Schedules a look for changes after an event.
    func changed(on loop: isolated EventLoop) {
        guard !observers.isEmpty, !isLooking else { return }
        isLooking = true
        let youngest = observers.values.compactMap { views[$0.reader]?.builtAt }.max() ?? 0
        let due = youngest + Self.shortestBetweenMs * 1_000_000
        loop.after(nanoseconds: due > loop.now ? due - loop.now : 0) { [weak self] in
            guard let self else { return }
            self.isLooking = false
            self.look(on: loop)
        }
    }

    /// Looks regularly, because values that end with time alone cause no event.
    private func watch(on loop: isolated EventLoop) {
        guard !isWatching, !observers.isEmpty else { return }
        isWatching = true
        loop.after(milliseconds: Int64(Self.longestLifeMs)) { [weak self] in
            guard let self else { return }
            self.isWatching = false
            self.look(on: loop)
            self.watch(on: loop)
        }
    }

    private func look(on loop: isolated EventLoop) {
        var isLate = false
        for (id, observer) in observers {
            let view = view(for: observer.reader, on: loop)
            // A view that was built just before this look may lack the newest change.
            if view.revision != events.revision { isLate = true }
            guard view.version != observer.version, observers[id] != nil else { continue }
            observers[id]?.version = view.version
            observer.tell()
        }
        if isLate { changed(on: loop) }
    }

    // MARK: Building

    private func build(for reader: Reader, on loop: isolated EventLoop) -> Glance {
        func mayUse(_ session: String?) -> Bool {
            guard let sessions = reader.sessions else { return true }
            return session.map { sessions.contains($0) } ?? false
        }
        let active = runs.runs(activeOnly: true).filter { mayUse($0.session.text) }
        let view = ActivityView(active)
        let link = gateway.status.state
        var glance = Glance(
            link: link,
            headline: link == .online ? view.headline : link == .paused ? "paused" : "offline",
            active: view.runs.count
        )
        glance.top = top(view.runs)
        let waiting = approvals.pending?.filter { mayUse($0.session) }
        let asked = questions.pending?.filter { mayUse($0.session) }
        glance.approvals = waiting?.count
        glance.questions = asked?.count
        let entries = outbox.summary(of: reader.sessions, now: loop.wallClock)
        if entries.fault == nil {
            glance.outbox = Glance.Outbox(
                pending: entries.counts.pending,
                failed: entries.counts.failed,
                unconfirmed: entries.counts.unconfirmed,
                refused: entries.refused
            )
        }
        let calls =
            (waiting ?? []).map { Glance.Next(.approval, id: $0.id, title: $0.title, expiresAt: $0.expiresAt) }
            + (asked ?? []).map { Glance.Next(.question, id: $0.id, title: $0.title, expiresAt: $0.expiresAt) }
        glance.next =
            calls.min { ($0.expiresAt?.milliseconds ?? .max, $0.id) < ($1.expiresAt?.milliseconds ?? .max, $1.id) }
            ?? outbox.oldestTroubled(of: reader.sessions).map { Glance.Next(.outbox, id: $0) }
        if reader.sessions == nil { addUsage(to: &glance, on: loop) }
        glance.agent = agent(reader.sessions)
        glance.unread = unread(reader)
        return glance
    }

    private func top(_ active: [Run]) -> [Glance.Top] {
        func waits(_ run: Run) -> Int { run.steps.contains { $0.state == .waiting } ? 0 : 1 }
        var seen: Set<SessionKey> = []
        return active.sorted { (waits($0), $1.startedAt, $0.id) < (waits($1), $0.startedAt, $1.id) }
            .filter { seen.insert($0.session).inserted }.prefix(3).map { run in
                Glance.Top(
                    session: run.session.text,
                    title: model[run.session.text]?.title ?? model.info(named: run.session).title ?? run.session.text,
                    label: run.currentLabel,
                    since: run.startedAt
                )
            }
    }

    private func addUsage(to glance: inout Glance, on loop: isolated EventLoop) {
        let known = usage.latest(on: loop)
        if let age = known.ageMs, age <= Self.longestUsageAgeMs {
            let windows = known.providers.flatMap { provider in
                provider.windows.compactMap { window in
                    window.percent(now: known.now).map { percent in
                        Glance.Usage(
                            id: provider.id,
                            window: window.name,
                            used: Int(percent.rounded()),
                            resetsAt: window.resetsAt
                        )
                    }
                }
            }
            // Equally full windows keep their own order.
            let order = windows.enumerated().sorted { ($1.element.used, $0.offset) < ($0.element.used, $1.offset) }
            glance.usage = order.prefix(3).map(\.element)
        }
        if let (_, figures, isComplete) = known.today {
            let isPriced = figures.cost > 0 || figures.unpriced == 0
            let cost = isPriced ? figures.cost : nil
            glance.today = Glance.Today(costUSD: cost, tokens: figures.tokens, isComplete: isComplete)
        }
    }

    private func agent(_ sessions: SessionSet?) -> Glance.Agent? {
        let name = documents.defaultAgent
        if let sessions, !sessions.contains(where: { $0.agent == name }) { return nil }
        guard let bytes = documents.known(DocumentService.Name(agent: name, kind: .identity)) else { return nil }
        if identity?.bytes != bytes {
            let fields = FieldDocument(kind: .identity, bytes: bytes).fields
            identity = (bytes, Glance.Agent(name: fields[.name], emoji: fields[.emoji]))
        }
        return identity.flatMap { $0.agent == Glance.Agent(name: nil, emoji: nil) ? nil : $0.agent }
    }

    /// Unread messages by the reader's own marks, plus one for each unmarked session that the gateway calls unread. Nil
    /// if neither is known.
    private func unread(_ reader: Reader) -> Int? {
        let own = reader.marker.map { marks.unread(by: $0) } ?? [:]
        var count = 0
        var isKnown = false
        for (session, unread) in own where reader.sessions?.contains(session.text) ?? true {
            count += unread
            isKnown = true
        }
        for (session, isUnread) in model.unread where own[session] == nil && reader.sessions?.contains(session) ?? true
        {
            count += isUnread ? 1 : 0
            isKnown = true
        }
        return isKnown ? count : nil
    }
}
