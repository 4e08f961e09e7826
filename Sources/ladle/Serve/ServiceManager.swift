import Basics
import Gateway
import Observability
import POSIX
import Upstream

/// Messages to the service manager (sd_notify(3)), if one listens.
struct ServiceManager: Sendable {
    private let socket: String?
    /// The interval of `alive`, half the manager's timeout; nil if it does not watch.
    let heartbeatMilliseconds: Int?

    /// From `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    init(_ environment: [String: String], pid: Int32 = CurrentProcess.id) {
        socket = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isWatched = socket != nil && environment["WATCHDOG_PID"].map { $0 == "\(pid)" } ?? true
        let period = environment["WATCHDOG_USEC"].flatMap { Int($0) }.map { $0 / 2000 }
        heartbeatMilliseconds = isWatched ? period.flatMap { $0 > 0 ? $0 : nil } : nil
    }

    func ready() { send("READY=1") }
    func waits(for leader: String) { send("READY=1\nSTATUS=Waiting: \(leader) leads") }
    func reloading() { send("RELOADING=1\nMONOTONIC_USEC=\(HostClock.monotonicNanoseconds / 1000)") }
    func stopping() { send("STOPPING=1\nSTATUS=Stopping: answers under way are finished") }
    func alive() { send("WATCHDOG=1") }

    func show(_ link: LinkStatus) { send(Self.statusLine(link)) }

    /// The text comes from the gateway. A line break in it would be a command to the service manager.
    static func statusLine(_ link: LinkStatus) -> String {
        let text = "Link \(link.state.rawValue): \(link.detail)".unicodeScalars.map { $0.value < 0x20 ? " " : $0 }
        return "STATUS=" + String(String.UnicodeScalarView(text))
    }

    /// Errors are ignored, as sd_notify(3) recommends.
    private func send(_ text: String) {
        if let socket { DatagramSocket.send(text, toUnix: socket) }
    }
}
