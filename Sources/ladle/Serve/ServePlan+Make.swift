import API
import Access
import Basics
import Commands
import Configuration
import Discovery
import EventLoops
import EventStream
import Gateway
import Observability
import Server
import TLS
import Upstream

extension ServePlan {
    /// - Parameter state: the state directory, for lock and control socket; the data may stand in a directory below it.
    static func make(
        _ settings: Settings,
        log: Log,
        found target: LinkTarget,
        data: String,
        state: String,
        isDemo: Bool,
        kept: KeptState,
        audit: AuditTrail?,
        manager: ServiceManager
    ) throws -> ServePlan {
        let tls = try ListenerTLS.make(settings, SettingsPlaces(environment: Program.environment))
        let surroundings = ListenAddress.Surroundings(
            isProtected: tls != nil || settings.bool(.insecureLAN),
            tailnet: { NetworkInterface.tailnetAddresses(NetworkInterface.all()) },
            inherited: InheritedSocket.all(Program.environment) + InheritedSocket.launchd()
        )
        let (listen, tailnetPorts) = try doors(settings, surroundings, state: state)
        let tokenFile = StateFile(data + "/device-tokens.json")
        let stored = try tokenFile.read().flatMap { try? DeviceTokenStore(parsing: $0) }
        let seed = SecureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return ServePlan(
            settings: settings,
            log: log,
            listen: listen,
            target: target,
            device: try DeviceIdentity.loadOrCreate(at: data + "/device-key"),
            tokens: stored ?? DeviceTokenStore(),
            tokenFile: tokenFile,
            isDemo: isDemo,
            seed: seed,
            lastEvent: kept.lastEvent,
            origins: try origins(settings),
            surroundings: surroundings,
            tailnetPorts: tailnetPorts,
            tls: tls,
            tailnet: try tailnetPolicy(settings),
            tailscaledPaths: settings.text(.accessTailnetSocket).map { [$0] } ?? Tailscaled.usualPaths,
            audit: audit,
            accessTokens: kept.tokens.records,
            sessionDefaults: kept.sessionDefaults,
            manager: manager
        )
    }

    /// Where to listen, and on which ports of the tailnet as soon as there is one.
    private static func doors(
        _ settings: Settings,
        _ surroundings: ListenAddress.Surroundings,
        state: String
    ) throws -> (listen: [ListenAddress], tailnetPorts: [UInt16]) {
        // Sockets that were handed over take the place of the default listener.
        let takesInherited = !surroundings.inherited.isEmpty && !settings.isSet(.listen)
        var listen = [ListenAddress.control(in: state)]
        var tailnetPorts: [UInt16] = []
        do throws(ListenAddress.Fault) {
            for text in takesInherited ? ["fd:"] : settings.list(.listen) {
                // Who names a place twice means it once; of port 0 there are as many as are asked for.
                listen += try ListenAddress.parse(text, surroundings).filter { place in
                    if case .inherited = place.source { return true }
                    return place.address.port == 0 || !listen.contains { $0.address == place.address }
                }
                if let port = try ListenAddress.tailnetPort(text) { tailnetPorts.append(port) }
            }
            if let path = settings.text(.accessTailnetServe) { listen.append(try ListenAddress.serve(path)) }
        } catch {
            throw StartFailure(message: "--listen \(error)", status: .configuration)
        }
        let owner = try socketOwner(settings)
        let mode = settings.text(.unixMode).flatMap { UInt32($0, radix: 8) } ?? 0o600
        for place in listen.indices where listen[place].kind == .unix {
            listen[place].mode = mode
            listen[place].owner = owner
        }
        return (listen, tailnetPorts)
    }

    private static func socketOwner(_ settings: Settings) throws -> SocketOwner? {
        try settings.text(.unixOwner).map { text in
            do throws(SocketOwner.Fault) {
                return try SocketOwner(text)
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
