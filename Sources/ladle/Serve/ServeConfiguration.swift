import API
import Access
import Basics
import Commands
import Configuration
import Discovery
import EventLoops
import Follow
import Labels
import Observability
import Outbox
import POSIX
import Runs
import Server
import Service
import Store
import Upstream

/// The configuration of `ladle serve`, checked, in the types of the parts that read it. Made before anything is opened.
struct ServeConfiguration: Sendable {
    let settings: Settings
    let places: SettingsPlaces
    /// The directory with the lock and the control socket. The demo keeps its database in a directory below.
    let stateDirectory: String
    /// Nil if no listener speaks TLS.
    let tls: TLSSettings?
    let listen: [ListenAddress]
    /// The ports of `tailnet[:PORT]` listeners, whose addresses come and go.
    let tailnetPorts: [UInt16]
    /// Whether addresses outside this host and the tailnet may be listened on.
    let listenRules: ListenAddress.Rules
    let tailnet: TailnetPolicy
    let origins: OriginList
    let notifications: NotificationSettings
    let nodes: NodePolicy
    /// Nil without an MQTT broker.
    let broker: BrokerConfiguration?
    /// Nil for a Ladle with a gateway of its own.
    let follow: FollowSettings?
    /// The server that keeps the state; nil for a file.
    let database: DatabaseConfiguration?
    /// This host's name in the lists of leaders and followers.
    let hostName: String

    /// - Parameter isStart: false for a check by hand, which has no sockets of a service manager.
    init(_ settings: Settings, places: SettingsPlaces, isStart: Bool = true) throws {
        guard let state = places.stateDirectory(settings) else {
            throw StartFailure(
                message: "no state directory: set HOME, XDG_STATE_HOME or --state",
                status: .configuration
            )
        }
        self.settings = settings
        self.places = places
        stateDirectory = state
        tls = try TLSSettings.read(settings, places, data: Self.dataDirectory(state, settings))
        listenRules = ListenAddress.Rules(
            allowsNetwork: tls != nil || settings.bool(.insecureLAN),
            tailnet: { NetworkInterface.tailnetAddresses(NetworkInterface.all()) },
            inherited: InheritedSocket.all(Program.environment) + InheritedSocket.launchd()
        )
        (listen, tailnetPorts) = try Self.listeners(settings, listenRules, state: state, isStart: isStart)
        if settings.bool(.advertise), !listen.contains(where: \.mayFaceNetwork) {
            let others = settings.list(.listen).joined(separator: ", ")
            throw StartFailure(
                message: "advertise: no listener faces the network, only \(others); add one such as "
                    + "--listen 0.0.0.0:18780 with --tls-cert and --tls-key, or leave advertise out",
                status: .configuration
            )
        }
        tailnet = try Self.tailnetPolicy(settings)
        origins = try Self.origins(settings)
        nodes = try Self.nodePolicy(settings)
        broker = try BrokerConfiguration(settings, places)
        follow = try FollowConfiguration.read(settings)
        var database = try DatabaseConfiguration.read(settings)
        database?.identity = try SharedIdentity.read(settings, places)
        self.database = database
        hostName = try FollowConfiguration.hostName(settings)
        let ports = listen.compactMap { listen in
            if case .ip(_, let port) = listen.address { port } else { nil }
        }
        notifications = try NotificationConfiguration.read(settings, ownPorts: Set(ports + tailnetPorts))
    }

    /// Why `serve` would not start with these settings, and where the setting comes from; nil if it would.
    static func problem(_ settings: Settings, places: SettingsPlaces) -> ConfigurationProblem? {
        do {
            _ = try ServeConfiguration(settings, places: places, isStart: false)
            return nil
        } catch {
            let message = (error as? StartFailure)?.message ?? "\(error)"
            let named = ConfigurationTable.keys.filter { message.hasPrefix($0.name) }
            let key = named.max { $0.name.count < $1.name.count }
            return ConfigurationProblem(
                origin: key.flatMap { settings[$0]?.origin } ?? .fallback,
                message: message,
                hint: key == .listen ? "ladle serve --listen tailnet" : nil
            )
        }
    }

    /// Why `serve` would never reach the gateway that the settings name; it starts all the same and shows this as its link.
    static func gatewayProblem(_ settings: Settings) -> ConfigurationProblem? {
        let pin = settings.text(.gatewayPin)
        do throws(GatewayURL.Problem) {
            _ = try GatewayURL(
                // A pin counts for a gateway that is found, too.
                settings.text(.gatewayURL) ?? (pin == nil ? "ws://localhost" : "wss://localhost"),
                pin: pin,
                allowPlaintext: settings.bool(.gatewayAllowPlaintext)
            )
            return nil
        } catch {
            let rejection = Rejection(error)
            let key: ConfigurationKey = [.malformedPin, .pinWithoutTLS].contains(error) ? .gatewayPin : .gatewayURL
            return ConfigurationProblem(
                origin: settings[key]?.origin ?? .fallback,
                message: "\(key.name): \(rejection.detail)",
                hint: rejection.hint
            )
        }
    }

    static func nodePolicy(_ settings: Settings) throws(StartFailure) -> NodePolicy {
        do throws(NodePolicy.Fault) {
            return try NodePolicy(allow: settings.list(.nodesAllow))
        } catch {
            throw StartFailure(message: "nodes.allow: \(error.detail)", status: .configuration)
        }
    }

    // MARK: The parts' settings

    var isAdvertised: Bool { settings.bool(.advertise) }
    var isDemo: Bool { settings.bool(.demo) }
    var controlSocket: String { stateDirectory + "/ladle.sock" }
    /// The directory with the database, caches and keys.
    var dataDirectory: String { Self.dataDirectory(stateDirectory, settings) }

    static func dataDirectory(_ state: String, _ settings: Settings) -> String {
        settings.bool(.demo) ? state + "/demo" : state
    }

    func isEncrypted(_ address: SocketAddress) -> Bool { tls?.encrypts(address) ?? false }

    func scheme(of address: SocketAddress) -> String { isEncrypted(address) ? "https" : "http" }

    var connections: ConnectionLimit { ConnectionLimit(settings) }
    var drainMilliseconds: Int64 { settings.int(.limitsDrain) }
    var keepsFrames: Bool { settings.bool(.debugFrames) }
    var hostNames: [String] { settings.list(.accessHosts) }

    var tailscaledPaths: [String] { Self.tailscaledPaths(settings) }

    static func tailscaledPaths(_ settings: Settings) -> [String] {
        settings.text(.accessTailnetSocket).map { [$0] } ?? Tailscaled.usualPaths
    }

    func services(_ saved: SavedState, seed: UInt64, log: Log) -> ServiceSettings {
        var services = ServiceSettings(
            seed: seed,
            documentRefreshMilliseconds: settings.int(.identityRefresh),
            defaults: saved.sessionDefaults,
            log: log
        )
        services.clientName = settings.text(.gatewayClientName) ?? services.clientName
        services.labels = settings.text(.activityLabels) == "chowder" ? .chowder : .extended
        services.outbox = outbox
        services.outboxTTLMilliseconds = settings.int(.outboxTTL)
        services.outboxLimits.entries = Int(settings.int(.outboxMaxEntries))
        services.outboxLimits.perSession = Int(settings.int(.outboxMaxPerSession))
        services.outboxLimits.payloadBytes = Int(settings.int(.outboxMaxAttachmentBytes))
        services.writesDocumentsByChat = settings.text(.identityWrite) == "chat"
        services.notifications = notifications
        services.nodes = nodes
        services.broker = broker?.settings(for: saved.device.publicKey, saved.sessionDefaults)
        services.freeBytes = { [stateDirectory] in FileSystem.freeBytes(at: stateDirectory) }
        services.utcOffset = { HostClock.utcOffset(atSeconds: $0) }
        services.timeZones = { name, completion in
            BackgroundWork.run { completion(ZoneFile.read(name)) }
        }
        return services
    }

    private var outbox: OutboxPolicy {
        var policy = OutboxPolicy()
        policy.offline = settings.text(.outboxOffline).flatMap(OutboxPolicy.Offline.init) ?? .hold
        policy.ambiguous = settings.text(.outboxAmbiguous).flatMap(OutboxPolicy.Ambiguous.init) ?? .reconcile
        policy.ordering = settings.text(.outboxOrdering).flatMap(OutboxPolicy.Ordering.init) ?? .accepted
        policy.resume = settings.text(.outboxResume).flatMap(OutboxPolicy.Resume.init) ?? .auto
        policy.jitter = settings.fraction(.outboxJitter)
        return policy
    }

    func api(log: Log) -> APISettings {
        var api = APISettings(version: Version.text, isDemo: isDemo)
        api.hostName = hostName
        api.log = log
        api.hasApprovalLinks = settings.bool(.approvalsLinks)
        api.isEncrypted = { [self] in isEncrypted($0) }
        api.interfaces = { NetworkInterface.reachable(NetworkInterface.all()) }
        api.connections = connections
        api.bodyBytes = Int(settings.int(.limitsBodyBytes))
        api.heartbeatSeconds = Int(settings.int(.eventsHeartbeat) / 1000)
        api.streamBufferBytes = Int(settings.int(.eventsBufferBytes))
        api.streamsPerConnection = Int(settings.int(.eventsStreamsPerConnection))
        api.openAI = openAI
        return api
    }

    private var openAI: OpenAISettings {
        var door = OpenAISettings()
        door.isEnabled = settings.bool(.openAIEnabled)
        door.tellsSteps = settings.text(.openAIActivity) != "none"
        door.tellsThoughts = settings.bool(.openAIThinking)
        door.isOneSession = settings.text(.openAISessions) == "one"
        door.takesAnyModel = settings.bool(.openAIAnyModel)
        door.disconnect = settings.text(.openAIOnDisconnect).flatMap(OpenAISettings.Disconnect.init(rawValue:)) ?? .auto
        return door
    }

    var streamSlots: StreamSlots {
        StreamSlots(
            perCaller: Int(settings.int(.eventsStreamsPerCaller)),
            total: Int(settings.int(.eventsStreams))
        )
    }

    var server: ServerLimits {
        var limits = ServerLimits()
        limits.headMilliseconds = settings.int(.limitsHeaderTimeout)
        limits.idleMilliseconds = settings.int(.limitsIdle)
        limits.bodyGraceMilliseconds = settings.int(.limitsBodyGrace)
        limits.handshakeMilliseconds = settings.int(.limitsHandshake)
        limits.lingerMilliseconds = settings.int(.limitsLinger)
        limits.answerBytes = Int(settings.int(.limitsAnswerBytes))
        limits.unreadAnswers = Int(settings.int(.limitsUnreadAnswers))
        limits.unfinishedBodies = Int(settings.int(.limitsUnfinishedBodies))
        limits.boundHeads(
            line: Int(settings.int(.limitsRequestLine)),
            bytes: Int(settings.int(.limitsHeaderBytes)),
            fields: Int(settings.int(.limitsHeaderFields))
        )
        limits.requestsPerConnection = Int(settings.int(.limitsRequestsPerConnection))
        limits.bodyBytesPerSecond = Int(settings.int(.limitsBodyRate))
        limits.stallMilliseconds = settings.int(.limitsWriteStall)
        limits.connections = connections.inForce
        limits.owner = PeerLookup.ownerUID
        #if os(Linux)
        limits.namesUsers = true
        #else
        limits.namesUsers = false
        #endif
        limits.connectionsPerPeer = Int(settings.int(.limitsConnectionsPerPeer))
        return limits
    }

    func authenticator(_ tokens: [TokenRecord]) -> Authenticator {
        Authenticator(
            settings: Authenticator.Settings(
                ownerUID: PeerLookup.ownerUID,
                trustsLoopback: settings.text(.accessLoopback) != "token",
                tailnet: tailnet
            ),
            tokens: TokenIndex(tokens),
            limiter: RateLimiter(policies: [
                .auth: .perMinute(settings.int(.limitsAuthPerMinute)),
                .pairing: .perMinute(settings.int(.limitsPairingPerMinute)),
                .nodeCalls: .perMinute(settings.int(.limitsNodeCalls)),
                .captures: .perMinute(settings.int(.limitsNodeCaptures)),
                .speech: .perMinute(settings.int(.limitsSpeech)),
                .allSends: RateLimitPolicy(
                    burst: settings.int(.limitsAllSendsBurst),
                    intervalMilliseconds: settings.int(.limitsAllSendsInterval)
                ),
                .sends: RateLimitPolicy(
                    burst: settings.int(.limitsSendsBurst),
                    intervalMilliseconds: settings.int(.limitsSendsInterval)
                ),
            ])
        )
    }

    /// - Parameter directory: the directory of the database.
    func audit(in directory: String, log: Log) -> AuditTrail? {
        guard settings.bool(.audit) else { return nil }
        return AuditTrail(
            path: directory + "/audit.log",
            limit: UInt64(clamping: settings.int(.auditMaxBytes)),
            keep: Int(settings.int(.auditKeep))
        ) { log.error("audit.failed", ["path": .string($0.path), "error": .string($0.reason)]) }
    }

    // MARK: Checks

    private static func listeners(
        _ settings: Settings,
        _ rules: ListenAddress.Rules,
        state: String,
        isStart: Bool
    ) throws -> (listen: [ListenAddress], tailnetPorts: [UInt16]) {
        // Sockets from the service manager replace the default listener.
        let takesInherited = !rules.inherited.isEmpty && !settings.isSet(.listen)
        var listen = [ListenAddress.control(in: state)]
        var tailnetPorts: [UInt16] = []
        do throws(ListenAddress.Fault) {
            for text in takesInherited ? ["fd:"] : settings.list(.listen) where isStart || !text.hasPrefix("fd:") {
                // An address that is named twice is opened once. Port 0 may be named more than once: each time is a new free port.
                listen += try ListenAddress.parse(text, rules).filter { place in
                    if case .inherited = place.source { return true }
                    return place.address.port == 0 || !listen.contains { $0.address == place.address }
                }
                if let port = try ListenAddress.tailnetPort(text) { tailnetPorts.append(port) }
            }
            if let path = settings.text(.accessTailnetServe) { listen.append(try ListenAddress.serve(path)) }
        } catch {
            throw StartFailure(message: "listen: \(error)", status: .configuration)
        }
        let owner = try socketOwner(settings)
        let mode = settings.text(.unixMode).flatMap { UInt32($0, radix: 8) } ?? 0o600
        for place in listen.indices where listen[place].kind == .unix {
            listen[place].mode = mode
            listen[place].owner = owner
        }
        return (listen, tailnetPorts)
    }

    private static func socketOwner(_ settings: Settings) throws -> SocketFile.Owner? {
        try settings.text(.unixOwner).map { text in
            do throws(SocketFile.Owner.Fault) {
                return try SocketFile.Owner(text)
            } catch {
                throw StartFailure(message: "unix.owner: \(error.message)", status: .configuration)
            }
        }
    }

    private static func origins(_ settings: Settings) throws -> OriginList {
        do throws(OriginList.InvalidOrigin) {
            return try OriginList(settings.list(.accessOrigins))
        } catch {
            throw StartFailure(message: "access.origins: \(error.text): \(error.hint)", status: .configuration)
        }
    }

    private static func tailnetPolicy(_ settings: Settings) throws -> TailnetPolicy {
        var grants: [TailnetPolicy.Grant] = []
        for text in settings.list(.accessTailnetAllow) {
            guard let grant = TailnetPolicy.Grant(text) else {
                throw StartFailure(
                    message: "access.tailnet.allow: \(text): write LOGIN=SCOPES, tag:NAME=SCOPES or cap:NAME=SCOPES",
                    status: .configuration
                )
            }
            grants.append(grant)
        }
        return TailnetPolicy(grants: grants, readsCapability: settings.bool(.accessTailnetCapability))
    }
}

extension ConnectionLimit {
    /// The number in the settings, or the number of descriptors that this process can open, if that is smaller.
    init(_ settings: Settings) {
        self.init(
            configured: Int(settings.int(.limitsConnections)),
            possible: max(1, ProcessLimits.descriptorsForClients - HTTPServer.extraDescriptors)
        )
    }

    /// A sentence if the system allows fewer connections than the settings; otherwise nil.
    var shortage: String? {
        guard inForce < configured else { return nil }
        return "at most \(inForce) connections, not the \(configured) of limits.connections: "
            + "the system lets the process open too few files"
    }

    var remedy: String {
        let files = ProcessLimits.descriptors(forClients: configured + HTTPServer.extraDescriptors)
        return "ulimit -n \(files)   (before ladle serve; of a service: LimitNOFILE=\(files) in its unit)"
    }
}
