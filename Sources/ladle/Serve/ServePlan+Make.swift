import Access
import Basics
import Configuration
import Discovery
import EventLoops
import TLS
import Upstream

extension ServePlan {
    /// - Parameter state: the state directory, for lock and control socket; the data may stand in a directory below it.
    static func make(
        _ settings: Settings,
        found target: LinkTarget,
        data: String,
        state: String,
        isDemo: Bool
    ) throws -> ServePlan {
        var listen = [ListenAddress.control(in: state)]
        do throws(ListenAddress.Fault) {
            for text in settings.list(.listen) {
                listen += try ListenAddress.parse(text, insecureLAN: settings.bool(.insecureLAN), tailnet: { [] })
            }
        } catch {
            throw StartFailure(message: "--listen \(error)", status: .configuration)
        }
        let tokenFile = StateFile(data + "/device-tokens.json")
        let stored = try tokenFile.read().flatMap { try? DeviceTokenStore(parsing: $0) }
        let seed = SecureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return ServePlan(
            settings: settings,
            listen: listen,
            target: target,
            device: try DeviceIdentity.loadOrCreate(at: data + "/device-key"),
            tokens: stored ?? DeviceTokenStore(),
            tokenFile: tokenFile,
            isDemo: isDemo,
            seed: seed,
            hosts: hosts(listen, names: settings.list(.accessHosts)),
            origins: try OriginList(settings.list(.accessOrigins))
        )
    }

    private static func hosts(_ listen: [ListenAddress], names: [String]) -> HostList {
        var addresses: [NetworkAddress] = [.loopback4]
        var port = ListenAddress.defaultPort
        for door in listen {
            guard case .ip(let address, port: let number) = door.address else { continue }
            addresses.append(address)
            port = number
        }
        return HostList(addresses: addresses, port: port, names: names)
    }
}
