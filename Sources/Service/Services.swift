package import EventLoops
package import Gateway
import JSONBytes
package import Labels
import Ledger
package import Observability
package import Outbox
import Runs
package import Store
import Upstream

/// The settings of the services.
package struct ServiceSettings {
    package var labels = LabelTable.extended
    package var outbox = OutboxPolicy()
    package var outboxLimits = OutboxLimits()
    /// The longest time a message may wait if its sender sets no limit.
    package var outboxTTLMilliseconds: Int64 = 48 * 3_600_000
    /// Seeds the jitter of retries.
    package var seed: UInt64
    /// Whether the agent may be asked by chat to write its files if the link may not use the file calls.
    package var writesDocumentsByChat = false
    package var documentRefreshMilliseconds: Int64
    /// The name under which Ladle connects to the gateway.
    package var clientName = "Ladle"
    /// The meaning of `main` and bare session keys until the gateway answers.
    package var defaults: SessionDefaults
    package var log: Log
    /// This host's offset from UTC in seconds at a time in seconds: a usage day starts at local midnight.
    package var utcOffset: @Sendable (_ seconds: Int64) -> Int = { _ in 0 }
    /// The commands that clients may send to the gateway's nodes.
    package var nodes = NodePolicy.standard
    package var timeZones: TimeZones.Reader = { _, completion in completion(nil) }
    package var notifications = NotificationSettings()
    /// Nil without an MQTT broker.
    package var broker: BrokerSettings?
    /// The free space of the database's file system; nil if unknown.
    package var freeBytes: @Sendable () -> UInt64? = { nil }
    /// Makes the transport for notification sinks.
    package var sinkTransport: @Sendable () -> any SinkTransport = { OutboundTransport() }

    package init(
        seed: UInt64 = 0,
        documentRefreshMilliseconds: Int64 = 300_000,
        defaults: SessionDefaults = .standard,
        log: Log = .none
    ) {
        self.seed = seed
        self.documentRefreshMilliseconds = documentRefreshMilliseconds
        self.defaults = defaults
        self.log = log
    }
}

/// Everything Ladle does, behind the API and in front of the gateway and the disk. Created once, in order. Events of
/// one service reach the others through `receive`; what a run shows of a message goes to the outbox directly. The API, the broker and the
/// daemon listen behind it.
package final class Services: ServiceEventReceiver {
    package let gateway: any GatewayCalls
    package let events: ServiceEvents
    package let audience: Audience
    package let feed: EventFeed
    package let eventReader: EventReader
    package let tokenRows: TokenRows
    let conversations: Conversations
    package let transcript: TranscriptReader
    package let outbox: OutboxService
    package let runs: RunService
    package let runArchive: RunArchive
    package let aborts: AbortService
    package let approvals: ApprovalService
    package let approvalReader: ApprovalReader
    package let approvalLinks: ApprovalLinks
    package let approvalMemory: ApprovalMemory
    package let readMarks: ReadMarks
    package let questions: QuestionService
    let messageReader: MessageReader
    package let messages: MessageService
    package let messagePages: MessagePages
    package let speech: SpeechService
    package let artifacts: ArtifactService
    package let intake: MessageIntake
    package let doorRows: DoorRows
    package let outboxReader: OutboxReader
    package let sessionModel: SessionModel
    package let sessions: SessionService
    package let sessionControl: SessionControl
    package let agents: AgentList
    package let documents: DocumentService
    package let avatars: AvatarStore
    package let models: ModelService
    package let timeZones: TimeZones
    /// This host's offset from UTC in seconds at a time in seconds.
    package let utcOffset: @Sendable (_ seconds: Int64) -> Int
    package let notificationDeliveries: NotificationDeliveries
    package let notificationPreferences: NotificationPreferences
    package let notificationMaker: NotificationMaker
    package let notifications: NotificationService
    package let receipts: ControlReceipts
    package let automations: AutomationService
    package let nodes: NodeService
    package let nodeInvoker: NodeInvoker
    package let devicePairing: DevicePairing
    private let scopeUpgrade: ScopeUpgrade
    package let usageReports: UsageReports
    package let usage: UsageService
    package let glance: GlanceService
    package let broker: BrokerService?

    package init(_ settings: ServiceSettings, gateway: any GatewayCalls, journal: any Journal) {
        let log = settings.log
        self.gateway = gateway
        events = ServiceEvents()
        audience = Audience()
        feed = EventFeed(journal: journal, events: events, log: settings.log)
        eventReader = EventReader(feed: feed)
        tokenRows = TokenRows(feed: feed)
        conversations = Conversations(feed: feed)
        transcript = TranscriptReader(gateway: gateway, events: events, conversations: conversations)
        outbox = OutboxService(
            policy: settings.outbox,
            gateway: gateway,
            feed: feed,
            events: events,
            transcript: transcript,
            seed: settings.seed
        )
        runs = RunService(
            gateway: gateway,
            feed: feed,
            events: events,
            transcript: transcript,
            outbox: outbox,
            labels: settings.labels,
            defaults: settings.defaults
        )
        runArchive = RunArchive(feed: feed, runs: runs)
        aborts = AbortService(
            gateway: gateway,
            feed: feed,
            events: events,
            runs: runs,
            outbox: outbox,
            ttlMilliseconds: settings.outboxTTLMilliseconds
        )
        approvals = ApprovalService(
            ApprovalKind(gateway: gateway, runs: runs),
            gateway: gateway,
            feed: feed,
            runs: runs,
            clientName: settings.clientName
        )
        approvalReader = ApprovalReader(feed: feed, approvals: approvals)
        approvalLinks = ApprovalLinks(feed: feed)
        approvalMemory = ApprovalMemory(gateway: gateway, runs: runs)
        readMarks = ReadMarks(feed: feed, events: events)
        questions = QuestionService(
            QuestionKind(gateway: gateway, runs: runs),
            gateway: gateway,
            feed: feed,
            runs: runs,
            clientName: settings.clientName
        )
        messageReader = MessageReader(
            gateway: gateway,
            feed: feed,
            transcript: transcript,
            runs: runs,
            conversations: conversations
        )
        messages = MessageService(gateway: gateway, feed: feed, events: events, runs: runs, reader: messageReader)
        messagePages = MessagePages(
            gateway: gateway,
            feed: feed,
            messages: messageReader,
            conversations: conversations
        )
        speech = SpeechService(gateway: gateway, messages: messagePages)
        artifacts = ArtifactService(gateway: gateway, runs: runs)
        intake = MessageIntake(
            feed: feed,
            events: events,
            outbox: outbox,
            limits: settings.outboxLimits,
            ttlMilliseconds: settings.outboxTTLMilliseconds
        )
        doorRows = DoorRows(feed: feed)
        outboxReader = OutboxReader(feed: feed)
        sessionModel = SessionModel(
            gateway: gateway,
            feed: feed,
            events: events,
            runs: runs,
            clientName: settings.clientName
        )
        sessions = SessionService(
            feed: feed,
            runs: runs,
            outbox: outbox,
            messages: messageReader,
            marks: readMarks,
            conversations: conversations,
            model: sessionModel
        )
        agents = AgentList(gateway: gateway, feed: feed, events: events)
        models = ModelService(gateway: gateway)
        sessionControl = SessionControl(
            gateway: gateway,
            model: sessionModel,
            service: sessions,
            runs: runs,
            outbox: outbox,
            agents: agents,
            models: models
        )
        avatars = AvatarStore(feed: feed)
        documents = DocumentService(
            gateway: gateway,
            feed: feed,
            runs: runs,
            mayAskByChat: settings.writesDocumentsByChat,
            refreshMilliseconds: settings.documentRefreshMilliseconds
        )
        receipts = ControlReceipts(feed: feed)
        automations = AutomationService(gateway: gateway, feed: feed, events: events, runs: runs)
        nodes = NodeService(
            gateway: gateway,
            feed: feed,
            events: events,
            audience: audience,
            policy: settings.nodes,
            seed: settings.seed
        )
        nodeInvoker = NodeInvoker(gateway: gateway, nodes: nodes)
        devicePairing = DevicePairing(gateway: gateway, feed: feed, events: events)
        timeZones = TimeZones(settings.timeZones)
        let sender = SinkSender(
            settings: settings.notifications,
            gateway: gateway,
            approvals: approvals,
            links: approvalLinks,
            sessionModel: sessionModel,
            transport: settings.sinkTransport(),
            log: settings.log
        )
        notificationDeliveries = NotificationDeliveries(feed: feed, events: events, sender: sender, log: settings.log)
        notificationPreferences = NotificationPreferences(
            settings: settings.notifications,
            gateway: gateway,
            feed: feed,
            events: events,
            timeZones: timeZones,
            deliveries: notificationDeliveries,
            log: settings.log
        )
        notificationMaker = NotificationMaker(
            gateway: gateway,
            feed: feed,
            audience: audience,
            preferences: notificationPreferences,
            deliveries: notificationDeliveries
        )
        notifications = NotificationService(
            gateway: gateway,
            feed: feed,
            audience: audience,
            approvals: approvals,
            preferences: notificationPreferences,
            deliveries: notificationDeliveries,
            maker: notificationMaker,
            freeBytes: settings.freeBytes
        )
        utcOffset = settings.utcOffset
        usageReports = UsageReports(gateway: gateway, runs: runs)
        usage = UsageService(
            gateway: gateway,
            feed: feed,
            reports: usageReports,
            audience: audience,
            utcOffset: settings.utcOffset
        )
        glance = GlanceService(
            gateway: gateway,
            events: events,
            runs: runs,
            approvals: approvals,
            questions: questions,
            outbox: outbox,
            model: sessionModel,
            marks: readMarks,
            documents: documents,
            usage: usage
        )
        scopeUpgrade = ScopeUpgrade(gateway: gateway)
        if let settings = settings.broker {
            let board = BrokerBoard(
                settings,
                gateway: gateway,
                runs: runs,
                outbox: outbox,
                approvals: approvals,
                model: sessionModel,
                models: models,
                usage: usage
            )
            broker = BrokerService(settings, feed: feed, reader: eventReader, board: board, log: log)
        } else {
            broker = nil
        }
        events.add(self)
        if let broker { events.add(broker) }
    }

    /// The largest body of a new message: the gateway's largest frame, or an estimate of it before the first
    /// connection.
    package var messageBodyLimit: Int { gateway.hello?.policy.maxPayload ?? 24 << 20 }

    /// The attachment limits from the gateway's last hello.
    package var attachmentLimits: AttachmentLimits { AttachmentLimits(gateway.hello, gateway.profile) }

    /// Loads the state of an earlier process.
    /// - Parameter completion: called when the link may open, after the earlier process's runs and messages are read.
    package func start(on loop: isolated EventLoop, completion: @escaping () -> Void) {
        // Notifications come first: the other services tell of what they find at their start.
        notifications.load(on: loop)
        outbox.load(on: loop)
        documents.load(on: loop)
        sessions.load(on: loop)
        readMarks.load(on: loop)
        approvals.load(on: loop)
        devicePairing.load(on: loop)
        broker?.start(on: loop)
        runs.load(on: loop) { [messages] in messages.load(on: loop, completion: completion) }
    }

    /// Hands an event to the services that act on it, in this order.
    package func receive(_ event: ServiceEvent, on loop: isolated EventLoop) {
        defer { glance.changed(on: loop) }
        switch event {
        case .linkChanged(let status):
            if !status.state.isConnected {
                runs.linkLost()
                messages.linkLost(on: loop)
                documents.linkClosed()
                approvals.linkLost(on: loop)
                questions.linkLost(on: loop)
                devicePairing.linkLost()
            }
            feed.pass(StreamEvent(transient: "link", at: loop.wallClock) { $0.member("link", status) }, on: loop)
            if !status.state.isConnected { outbox.linkIs(LinkCondition(status), on: loop) }
            outbox.pauseIs(status, on: loop)
            notifications.linkChanged(status, on: loop)
        case .linkOpened(let hello):
            agents.linkOpened(on: loop)
            models.linkOpened()
            usageReports.linkOpened()
            usage.linkOpened()
            runs.linkOpened(hello, on: loop)
            approvals.linkOpened(on: loop)
            questions.linkOpened(on: loop)
            if let profile = gateway.profile, let process = runs.process {
                outbox.linkIs(.online(profile, process, earlier: runs.earlierProcess), on: loop)
            }
            sessionModel.linkOpened(on: loop)
            automations.linkOpened(hello, on: loop)
            nodes.linkOpened(on: loop)
            devicePairing.linkOpened(hello, on: loop)
            scopeUpgrade.linkOpened(on: loop)
            documents.refreshAll(on: loop)
            runs.resumeWatching(on: loop)
            messages.catchUp(waiting: outbox.sessions, on: loop)
        case .gatewayEvent(let event):
            runs.received(event, on: loop)
            approvals.received(event, on: loop)
            questions.received(event, on: loop)
            documents.received(event, on: loop)
            messages.received(event, on: loop)
            sessions.received(event, on: loop)
            models.received(event)
            automations.received(event, on: loop)
            notifications.received(event, on: loop)
            nodes.received(event, on: loop)
            devicePairing.received(event, on: loop)
        case .framesLost:
            runs.framesLost(on: loop)
            approvals.framesLost(on: loop)
            messages.linkLost(on: loop)
            sessionModel.invalidate()
            questions.framesLost(on: loop)
            automations.framesLost(on: loop)
            devicePairing.framesLost(on: loop)
            messages.catchUp(waiting: outbox.sessions, on: loop)
        case .conversationBegan(let session): sessions.began(session, on: loop)
        case .sessionsListed(let before): sessions.compare(before, on: loop)
        case .defaultsChanged(let defaults): documents.defaultsChanged(defaults)
        case .messageDispatched(let entry, let key): runs.dispatched(entry, key: key, on: loop)
        case .messageRefused(let key): runs.refused(key: key)
        case .messageNotRun(let key, let reason): runs.notRun(key: key, reason: reason, on: loop)
        case .entryAccepted(let entry):
            outbox.enqueued(entry, on: loop)
            messages.entryChanged(entry, on: loop)
        case .entryChanged(let entry):
            messages.entryChanged(entry, on: loop)
            runs.entryChanged(entry, on: loop)
        case .messageSaid(let message, let session):
            readMarks.said(message, in: session)
            sessionModel.said(message, in: session)
        case .runContinued(let run, let answer, let session, let isShared):
            aborts.runContinued(run, as: answer, in: session, isShared: isShared, on: loop)
        case .runSeparated(let key, let other): messages.runSeparated(key, from: other)
        case .runBegan(let run): aborts.sendEarlyStops(of: run, on: loop)
        case .runEnded(let run):
            aborts.sendEarlyStops(of: run.id, on: loop)
            documents.runEnded(run, on: loop)
            messages.runEnded(run, on: loop)
            approvals.runEnded(run, on: loop)
            questions.runEnded(run, on: loop)
        case .diskFellBehind(let isBehind): gateway.holdInput(isBehind, on: loop)
        case .storeFailed(let fault): notifications.storeFailed(fault, on: loop)
        case .sinksChanged: notifications.sinksChanged(on: loop)
        case .sinkDisabled(let sink, let reason): notifications.sinkDisabled(sink, reason: reason, on: loop)
        case .published(let event):
            runs.published(event)
            notifications.published(event, on: loop)
        case .tokensIssued, .frameLogged: break
        }
    }
}

extension LinkCondition {
    init(_ status: LinkStatus) {
        switch status.state {
        case .connecting, .online, .paused: self = .connecting
        case .waitingForApproval, .refused: self = .blocked(reason: status.code ?? status.detail)
        case .offline: self = .offline(detail: status.detail)
        }
    }
}
