import EventLoops
import POSIX

/// A listening socket from the service manager (sd_listen_fds(3), launch_activate_socket(3)).
struct InheritedSocket: Sendable, Equatable {
    let number: Int32
    let name: String?

    private static let first: Int32 = 3
    /// More sockets than a service manager would ever pass on.
    private static let most = 64

    /// launchd gives a socket only for a name, so both known names are asked for.
    static func launchd() -> [InheritedSocket] {
        ["http", "serve"].flatMap { name in
            Socket.launchdDescriptors(name).map { InheritedSocket(number: $0, name: name) }
        }
    }

    /// From `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`; none when they are meant for another process.
    static func all(_ environment: [String: String], pid: Int32 = CurrentProcess.id) -> [InheritedSocket] {
        guard environment["LISTEN_PID"] == "\(pid)", let count = environment["LISTEN_FDS"].flatMap({ Int($0) }),
            (1...most).contains(count)
        else { return [] }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        return (0..<count).map { place in
            InheritedSocket(
                number: first + Int32(place),
                name: place < names.count && !names[place].isEmpty ? String(names[place]) : nil
            )
        }
    }
}
