import Access
import Activity
import Basics
import Bridge
import Configuration
import EventLog
import Exchanges
import Outbox
import Server
import Store
import TLS
import Upstream

/// Everything the configuration decides, worked out before anything is opened on the loop.
struct ServePlan: Sendable {
    let settings: Settings
    let listen: [ListenAddress]
    var target: LinkTarget
    let device: DeviceIdentity
    let tokens: DeviceTokenStore
    let tokenFile: StateFile
    let isDemo: Bool
    let seed: UInt64
    var lastEvent = EventID(epoch: "", sequence: 0)
    var firstEvent: EventID?
    let hosts: HostList
    let origins: OriginList

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
        limits.bodyBytesPerSecond = Int(settings.int(.limitsBodyRate))
        limits.stallMilliseconds = settings.int(.limitsWriteStall)
        limits.connections = Int(settings.int(.limitsConnections))
        limits.connectionsPerPeer = Int(settings.int(.limitsConnectionsPerPeer))
        return limits
    }

    var authenticator: Authenticator {
        Authenticator(
            settings: Authenticator.Settings(
                ownerUID: PeerLookup.ownerUID,
                trustsLoopback: settings.text(.accessLoopback) != "token"
            )
        )
    }

    func bridgeSettings(link: UpstreamLink) -> BridgeSettings {
        let tcp = BrowserPolicy(hosts: .only(hosts), origins: origins)
        let local = BrowserPolicy(hosts: .any, origins: origins)
        var edge = BridgeSettings(
            version: Version.text,
            isDemo: isDemo,
            browsers: { $0.door == .tcp ? tcp : local },
            messageBodyLimit: { link.hello?.policy.maxPayload ?? Self.bodyBeforeFirstHello }
        )
        edge.streamsPerCaller = Int(settings.int(.eventsStreamsPerCaller))
        edge.outboxTTL = settings.int(.outboxTTL)
        edge.outboxLimits.entries = Int(settings.int(.outboxMaxEntries))
        edge.outboxLimits.perSession = Int(settings.int(.outboxMaxPerSession))
        edge.outboxLimits.payloadBytes = Int(settings.int(.outboxMaxAttachmentBytes))
        return edge
    }

    /// Before the first connect the link's policy is not known: the reference gateway's frame, less some room.
    private static let bodyBeforeFirstHello = 24 << 20

    func keep(_ tokens: DeviceTokenStore) {
        let file = tokenFile
        BackgroundWork.run { try? file.replace(with: tokens.bytes) }
    }
}
