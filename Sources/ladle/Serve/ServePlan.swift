import API
import Access
import Basics
import Configuration
import EventLoops
import EventStream
import Gateway
import Labels
import Observability
import Outbox
import Runs
import Server
import Service
import Store
import TLS
import Upstream

/// Everything the configuration decides, worked out before anything is opened on the loop.
struct ServePlan: Sendable {
    let settings: Settings
    let log: Log
    let listen: [ListenAddress]
    var target: LinkTarget
    let device: DeviceIdentity
    let tokens: DeviceTokenStore
    let tokenFile: StateFile
    let isDemo: Bool
    let seed: UInt64
    let lastEvent: EventID
    let origins: OriginList
    let surroundings: ListenAddress.Surroundings
    /// Of `tailnet[:PORT]` listeners.
    let tailnetPorts: [UInt16]
    let tls: ListenerTLS?
    let tailnet: TailnetPolicy
    let tailscaledPaths: [String]
    let audit: AuditTrail?
    let accessTokens: [TokenRecord]
    let sessionDefaults: SessionDefaults
    /// Hears of the link's state.
    let manager: ServiceManager

    var scheme: String { tls == nil ? "http" : "https" }

    var connections: ConnectionLimit { ConnectionLimit(settings) }

    var subscriberBuffer: Int { Int(settings.int(.eventsBufferBytes)) }

    var labels: LabelTable { settings.text(.activityLabels) == "chowder" ? .chowder : .extended }

    var outboxPolicy: OutboxPolicy {
        var policy = OutboxPolicy()
        policy.offline = settings.text(.outboxOffline).flatMap(OutboxPolicy.Offline.init) ?? .count
        policy.ambiguous = settings.text(.outboxAmbiguous).flatMap(OutboxPolicy.Ambiguous.init) ?? .reconcile
        policy.ordering = settings.text(.outboxOrdering).flatMap(OutboxPolicy.Ordering.init) ?? .accepted
        policy.resume = settings.text(.outboxResume).flatMap(OutboxPolicy.Resume.init) ?? .auto
        policy.jitter = settings.fraction(.outboxJitter)
        policy.ttlMs = settings.int(.outboxTTL)
        return policy
    }

    var serverLimits: ServerLimits {
        var limits = ServerLimits()
        limits.headMilliseconds = settings.int(.limitsHeaderTimeout)
        limits.idleMilliseconds = settings.int(.limitsIdle)
        limits.bodyGraceMilliseconds = settings.int(.limitsBodyGrace)
        limits.handshakeMilliseconds = settings.int(.limitsHandshake)
        limits.lingerMilliseconds = settings.int(.limitsLinger)
        limits.answerBytes = Int(settings.int(.limitsAnswerBytes))
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
        limits.connectionsPerPeer = Int(settings.int(.limitsConnectionsPerPeer))
        return limits
    }

    var authenticator: Authenticator {
        Authenticator(
            settings: Authenticator.Settings(
                ownerUID: PeerLookup.ownerUID,
                trustsLoopback: settings.text(.accessLoopback) != "token",
                tailnet: tailnet
            ),
            tokens: TokenIndex(accessTokens),
            limiter: RateLimiter(policies: [
                .auth: .perMinute(settings.int(.limitsAuthPerMinute)),
                .pairing: .perMinute(settings.int(.limitsPairingPerMinute)),
                .nodes: .perMinute(settings.int(.limitsNodesPerMinute)),
                .sends: RateLimitPolicy(
                    burst: settings.int(.limitsSendsBurst),
                    intervalMilliseconds: settings.int(.limitsSendsInterval)
                ),
            ])
        )
    }

    var serviceSettings: ServiceSettings {
        var services = ServiceSettings(
            seed: seed,
            documentRefreshMilliseconds: settings.int(.identityRefresh),
            defaults: sessionDefaults,
            log: log
        )
        services.labels = labels
        services.outbox = outboxPolicy
        services.writesDocumentsByChat = settings.text(.identityWrite) == "chat"
        return services
    }

    func apiSettings(link: UpstreamLink, rules: HostRules) -> APISettings {
        var edge = APISettings(
            version: Version.text,
            isDemo: isDemo,
            browsers: { rules.policy(for: $0) },
            messageBodyLimit: { link.hello?.policy.maxPayload ?? Self.bodyBeforeFirstHello }
        )
        edge.streamsPerConnection = Int(settings.int(.eventsStreamsPerConnection))
        edge.bodyBytes = Int(settings.int(.limitsBodyBytes))
        edge.log = log
        edge.connections = connections
        edge.streamsPerCaller = Int(settings.int(.eventsStreamsPerCaller))
        edge.streams = Int(settings.int(.eventsStreams))
        edge.outboxTTL = settings.int(.outboxTTL)
        edge.outboxLimits.entries = Int(settings.int(.outboxMaxEntries))
        edge.outboxLimits.perSession = Int(settings.int(.outboxMaxPerSession))
        edge.outboxLimits.payloadBytes = Int(settings.int(.outboxMaxAttachmentBytes))
        return edge
    }

    /// Before the first connect the link's policy is not known: the reference gateway's frame, less some room.
    private static let bodyBeforeFirstHello = 24 << 20

    func keep(_ tokens: DeviceTokenStore) {
        BackgroundWork.run { [tokenFile, log] in
            do {
                try tokenFile.replace(with: tokens.bytes)
            } catch {
                // It serves until the next start, which would have to be approved anew.
                log.warning("link.tokenNotKept", ["error": .string("\(error)")])
            }
        }
    }
}
