import Basics
import Commands
import Configuration
import Discovery
import EventLoops
import JSONBytes
import POSIX
import Service
import Store

/// Checks this host: the state directory, room on the disk, free ports, the control socket.
enum HostCheck {
    static func state(_ path: String, isServing: Bool) -> [Finding] {
        guard FileSystem.mayExist(path) else { return [.fine("state", "\(path) will be made at the first start")] }
        guard FileSystem.isWritableDirectory(path) else {
            return [.wrong("state", "\(path) cannot be written", "sudo chown -R \"$(id -un)\" \(path)", .noPermission)]
        }
        return [isServing ? .fine("state", "\(path) is the server's") : lock(path), disk(path)]
    }

    private static func lock(_ path: String) -> Finding {
        do throws(StateDirectoryError) {
            try StateDirectory(path: path).release()
            return .fine("state", "\(path) is free")
        } catch {
            let (hint, exit): (String, ExitCode) =
                switch error {
                case .inUse(_, let pid): (pid.map { "kill \($0)" } ?? "fuser -v \(path)/ladle.lock", .temporary)
                case .openToOthers: ("chmod 700 \(path)", .noPermission)
                case .foreignOwner: ("sudo chown -R \"$(id -un)\" \(path)", .noPermission)
                case .notADirectory: ("ladle serve --state DIR", .configuration)
                case .lockNotAFile(let lock): ("mv -i \(lock) \(lock).old", .noPermission)
                case .cannotLock(let lock, _, isForbidden: true):
                    ("sudo chown \"$(id -un)\" \(lock); chmod u+rw \(lock)", .noPermission)
                case .cannotCreate, .cannotLock:
                    error.isPermission ? ("chmod u+rwx \(path)", .noPermission) : ("df -h \(path); mount", .temporary)
                }
            return .wrong("state", "\(error)", hint, exit)
        }
    }

    /// The fault of a damaged database that was set aside; nil if there is none, or if `ladle outbox recover` has dealt with it.
    static func setAside(in directory: String) -> Finding? {
        guard let (path, reason) = StateStore.setAside(in: directory) else { return nil }
        let text = "no message is accepted: \(reason); the former file is in \(path)"
        return .wrong("outbox", text, "ladle outbox recover", .temporary)
    }

    private static func disk(_ path: String) -> Finding {
        guard let free = FileSystem.freeBytes(at: path) else { return .fine("disk", "the free space is not known") }
        let text = "\(free >> 20) MiB free at \(path)"
        guard free < StorageWatch.leastFreeBytes else { return .fine("disk", text) }
        return .wrong("disk", "nearly full: \(text)", "du -xhd1 \(path) | sort -h", .temporary)
    }

    static func daemon(_ error: ClientError, socket: String) -> Finding {
        let found = try? FileSystem.facts(socket, follow: false)
        switch error {
        case .notRunning where found != nil && found?.kind != .socket:
            return .wrong(
                "daemon",
                "\(socket) is not a socket; ladle serve needs its place",
                "mv -i \(socket) \(socket).old"
            )
        case .notRunning where found != nil:
            let text = "\(socket) is left over from a server that is gone; the next start replaces it"
            return .wrong("daemon", text, "ladle serve")
        case .notRunning: return .wrong("daemon", "ladle serve is not running", "ladle serve")
        case .notAllowed:
            let folder = socket.lastIndex(of: "/").map { socket[..<$0] } ?? "."
            let hint = "sudo -u \"$(stat -c %U \(socket))\" ladle doctor --state \(folder)"
            return .wrong("daemon", error.message, hint, .noPermission)
        default: return .wrong("daemon", error.message, "ladle serve", .temporary)
        }
    }

    // MARK: The network

    #if os(macOS)
    private static let daemonSocket = "/var/run/mDNSResponder"
    #else
    private static let daemonSocket = "/run/avahi-daemon/socket"
    #endif

    /// Whether this Ladle is announced on the network. Checked only if the settings ask for it.
    static func advertising(_ settings: Settings, _ environment: [String: String]) -> [Finding] {
        guard settings.bool(.advertise) else { return [] }
        let listen = settings.list(.listen)
        if !listen.contains(where: { $0.hasPrefix("fd:") }), !addresses(settings).contains(where: \.facesNetwork) {
            let text = "no listener faces the network, so serve does not start: \(listen.joined(separator: ", "))"
            return [.wrong("advertise", text, "ladle serve --advertise false", .configuration)]
        }
        guard Advertiser.publisher(environment) != nil else {
            let text = "nobody announces this Ladle: \(Advertiser.programName) is not installed"
            return [.wrong("advertise", text, "sudo apt install avahi-utils")]
        }
        guard environment["DBUS_SYSTEM_BUS_ADDRESS"] != nil || FileSystem.exists(daemonSocket) else {
            let text = "nobody announces this Ladle: avahi-daemon does not run"
            return [
                .wrong("advertise", text, "sudo apt install avahi-daemon; sudo systemctl enable --now avahi-daemon")
            ]
        }
        return [.fine("advertise", "announced as _ladle._tcp; others find it with ladle discover --ladle")]
    }

    // MARK: Listeners

    static func ports(_ settings: Settings) -> [Finding] {
        addresses(settings).compactMap { address in
            guard case .ip(let ip, port: let port) = address, port != 0 else { return nil }
            do throws(SystemError) {
                _ = try Socket.listen(on: address)
                return .fine("listen", "\(address) is free")
            } catch {
                guard error.isAddressInUse else {
                    return .wrong("listen", "\(address): \(error.reason)", "ladle serve --listen 127.0.0.1:0")
                }
                let other = (1...20).lazy.compactMap { port.addingReportingOverflow($0).partialValue }
                    .map { SocketAddress.ip(ip, port: $0) }.first { (try? Socket.listen(on: $0)) != nil }
                let hint = "ladle serve --listen \(other?.description ?? "127.0.0.1:0")"
                return .wrong("listen", "\(address) is taken by another program", hint)
            }
        }
    }

    /// Says who can reach each listener of the running server.
    static func exposure(_ settings: Settings, listeners: JSONValue?) -> [Finding] {
        let addresses = listeners?.elements.compactMap(\.string).flatMap(addresses) ?? []
        return exposure(settings, of: addresses)
    }

    /// Says who can reach each configured listener once the server runs.
    static func exposure(_ settings: Settings, state: String) -> [Finding] {
        var open = [ListenAddress.control(in: state).address]
        if let path = settings.text(.accessTailnetServe) { open.append(.unix(path: path)) }
        return exposure(settings, of: open + addresses(settings))
    }

    /// Cleartext on a network is a fault even if `insecureLan` allows it.
    private static func exposure(_ settings: Settings, of addresses: [SocketAddress]) -> [Finding] {
        let exposure = Exposure(settings)
        var findings = addresses.map { Finding.fine("exposure", exposure.line($0)) }
        guard !settings.hasTLS else { return findings }
        for case .ip(let ip, port: let port) in addresses where !ip.isLoopback && !ip.isTailnet {
            findings.append(
                .wrong(
                    "exposure",
                    "\(SocketAddress.ip(ip, port: port)) is open to the network in cleartext: others can read every token",
                    "ladle tls self-signed --host \"$(hostname)\"   (then: ladle serve --tls-cert FILE --tls-key FILE)",
                    .configuration
                )
            )
        }
        return findings
    }

    private static func addresses(_ settings: Settings) -> [SocketAddress] { settings.list(.listen).flatMap(addresses) }

    private static func addresses(_ text: String) -> [SocketAddress] {
        var rules = ListenAddress.Rules()
        rules.allowsNetwork = true
        rules.tailnet = { NetworkInterface.tailnetAddresses(NetworkInterface.all()) }
        return ((try? ListenAddress.parse(text, rules)) ?? []).map(\.address)
    }
}
