import Basics
import Gateway
import POSIX
import Upstream

/// What the service manager that started this process is told (sd_notify(3)); nothing where none listens.
struct ServiceManager: Sendable {
    private let socket: String?
    /// How often it is to hear that all is well, half the time it waits; nil where it does not watch.
    let heartbeatMilliseconds: Int?

    /// From `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    init(_ environment: [String: String], pid: Int32 = CurrentProcess.id) {
        socket = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isWatched = socket != nil && environment["WATCHDOG_PID"].map { $0 == "\(pid)" } ?? true
        let period = environment["WATCHDOG_USEC"].flatMap { Int($0) }.map { $0 / 2000 }
        heartbeatMilliseconds = isWatched ? period.flatMap { $0 > 0 ? $0 : nil } : nil
    }

    func ready() { send("READY=1") }
    func reloading() { send("RELOADING=1\nMONOTONIC_USEC=\(HostClock.monotonicNanoseconds / 1000)") }
    func stopping() { send("STOPPING=1\nSTATUS=Stopping: answers under way are finished") }
    func alive() { send("WATCHDOG=1") }

    func show(_ link: LinkStatus) { send(Self.statusLine(link)) }

    /// The gateway's words are in it: a line break among them would be an order to the service manager.
    static func statusLine(_ link: LinkStatus) -> String {
        let text = "Link \(link.state.rawValue): \(link.detail)".unicodeScalars.map { $0.value < 0x20 ? " " : $0 }
        return "STATUS=" + String(String.UnicodeScalarView(text))
    }

    /// Best effort, as sd_notify is: a service manager that does not read is no reason to fail.
    private func send(_ text: String) {
        if let socket { DatagramSocket.send(text, toUnix: socket) }
    }
}
