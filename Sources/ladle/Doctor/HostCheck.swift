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
    /// - Parameter data: the directory of the database: the state directory, or the demo's in it.
    static func state(_ path: String, data: String, isServing: Bool) -> [Finding] {
        if let fault = placeFault(path) { return [fault] }
        guard FileSystem.mayExist(path) else { return [.fine("state", "\(path) will be made at the first start")] }
        guard FileSystem.isWritableDirectory(path) else {
            let hint = "sudo chown -R \"$(id -un)\" \(Printable.argument(path))"
            return [.wrong("state", "\(path) cannot be written", hint, .noPermission)]
        }
        return (isServing ? [.fine("state", "\(path) is the server's")] : files(path, data)) + [disk(path)]
    }

    /// The reason why there can be no directory of this path; nil if there is one, or if it can be made.
    static func placeFault(_ path: String) -> Finding? {
        let place = Printable.argument(path)
        if let facts = try? FileSystem.facts(path) {
            guard facts.kind != .directory else { return nil }
            let hint = "mv -i \(place) \(Printable.argument(path + ".old"))   (or elsewhere: ladle serve --state DIR)"
            return .wrong("state", "\(path) is not a directory", hint, .configuration)
        }
        guard !FileSystem.mayExist(path) else { return nil }
        if let target = FileSystem.linkTarget(path) {
            let folder = target.hasPrefix("/") ? target : "\(FileSystem.folder(of: path))/\(target)"
            let hint = "mkdir -m 700 \(Printable.argument(folder))"
            return .wrong("state", "\(path) is a link to \(target), which does not exist", hint, .configuration)
        }
        var folder = FileSystem.folder(of: path)
        while folder != "/", folder != ".", (try? FileSystem.facts(folder)) == nil, !FileSystem.mayExist(folder) {
            folder = FileSystem.folder(of: folder)
        }
        if let facts = try? FileSystem.facts(folder), facts.kind != .directory {
            let text = "\(path) cannot be made: \(folder) is not a directory"
            return .wrong("state", text, "ladle serve --state DIR", .configuration)
        }
        guard FileSystem.isWritableDirectory(folder) else {
            let hint = "sudo install -d -m 700 -o \"$(id -un)\" \(place)"
            return .wrong("state", "\(path) cannot be made: \(folder) cannot be written", hint, .noPermission)
        }
        return nil
    }

    /// The lock of the state directory, and the database while no server can open it.
    private static func files(_ path: String, _ data: String) -> [Finding] {
        let place = Printable.argument(path)
        do throws(StateDirectoryError) {
            let database = try StateDirectory.withLook(at: path) { Self.database(in: data) }
            return [.fine("state", "\(path) is free")] + [database].compactMap(\.self)
        } catch {
            let (hint, exit): (String, ExitCode) =
                switch error {
                case .inUse(_, let pid): (pid.map { "kill \($0)" } ?? "fuser -v \(place)/ladle.lock", .temporary)
                case .openToOthers: ("chmod 700 \(place)", .noPermission)
                case .foreignOwner: ("sudo chown -R \"$(id -un)\" \(place)", .noPermission)
                case .notADirectory: ("ladle serve --state DIR", .configuration)
                case .lockNotAFile(let lock):
                    ("mv -i \(Printable.argument(lock)) \(Printable.argument(lock + ".old"))", .noPermission)
                case .cannotLock(let lock, _, isForbidden: true): (takeBack(lock), .noPermission)
                case .unfinishedRestore: ("df -h \(place); ladle serve --state \(place)", .temporary)
                case .unreadablePlan(let plan): ("rm \(Printable.argument(plan))", .noPermission)
                case .cannotCreate, .cannotLock:
                    error.isPermission ? ("chmod u+rwx \(place)", .noPermission) : ("df -h \(place); mount", .temporary)
                }
            return [.wrong("state", "\(error)", hint, exit)]
        }
    }

    private static func takeBack(_ path: String) -> String {
        let place = Printable.argument(path)
        return "sudo chown \"$(id -un)\" \(place); chmod u+rw \(place)"
    }

    // MARK: The database

    /// Checks the database without changing it; nil if there is none yet.
    private static func database(in directory: String) -> Finding? {
        let path = directory + "/ladle.db"
        switch DatabaseFault.find(in: directory) {
        case nil: return FileSystem.exists(path) ? .fine("database", "\(path) can be used") : nil
        case .notAFile:
            let text = "\(path) is not a file, and the database needs its place"
            let hint = "mv -i \(Printable.argument(path)) \(Printable.argument(path + ".old"))"
            return .wrong("database", text, hint, .configuration)
        case .leadsNowhere(_, let target):
            let text = "\(path) is a link to \(target), which does not exist"
            let hint = "mount the disk of \(Printable.argument(target)); to begin anew: rm \(Printable.argument(path))"
            return .wrong("database", text, hint, .configuration)
        case .unreadable(_, let reason, isForbidden: true):
            return .wrong("database", "\(path) cannot be read: \(reason)", takeBack(path), .noPermission)
        case .unreadable(_, let reason, isForbidden: false):
            return .wrong("database", "\(path) cannot be read: \(reason)", integrityCheck(in: directory), .temporary)
        case .unusable(_, let reason):
            let hint =
                "ladle restore FILE   (a backup; without one ladle serve sets it aside, then: ladle outbox recover)"
            return .wrong("database", "\(path) cannot be used: \(reason)", hint)
        case .newer(_, let reason):
            let hint = "install the newer Ladle again; without it ladle serve sets it aside, then: ladle outbox recover"
            return .wrong("database", "\(path) cannot be used: \(reason)", hint)
        }
    }

    static func integrityCheck(in directory: String) -> String {
        "sqlite3 \(Printable.argument(directory + "/ladle.db")) 'PRAGMA integrity_check'"
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
        return .wrong("disk", "nearly full: \(text)", "du -xhd1 \(Printable.argument(path)) | sort -h", .temporary)
    }

    static func daemon(_ error: ClientError, socket: String) -> Finding {
        let found = try? FileSystem.facts(socket, follow: false)
        switch error {
        case .notRunning where found != nil && found?.kind != .socket:
            return .wrong(
                "daemon",
                "\(socket) is not a socket; ladle serve needs its place",
                "mv -i \(Printable.argument(socket)) \(Printable.argument(socket + ".old"))"
            )
        case .notRunning where found != nil:
            let text = "\(socket) is left over from a server that is gone; the next start replaces it"
            return .wrong("daemon", text, "ladle serve")
        case .notRunning: return .wrong("daemon", "ladle serve is not running", "ladle serve")
        case .deleted: return .wrong("daemon", error.message, error.hint)
        case .notAllowed:
            let folder = Printable.argument(FileSystem.folder(of: socket))
            let hint = "sudo -u \"$(stat -c %U \(Printable.argument(socket)))\" ladle doctor --state \(folder)"
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
