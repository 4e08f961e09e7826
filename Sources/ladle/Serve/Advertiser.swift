import Discovery
import Dispatch
import Observability
import POSIX
import Synchronization

/// Runs the program that announces this Ladle on the network, and starts it again when it ends. If the program fails, Ladle still
/// serves.
final class Advertiser: Sendable {
    /// The wait if the program is missing, because it may be installed while Ladle serves.
    private static let missingMilliseconds: Int64 = 300_000
    private static let outputBytes = 512
    /// The variables that the program gets. The second one is the address of a bus that is not in the usual place.
    private static let passedOn = ["PATH", "DBUS_SYSTEM_BUS_ADDRESS"]

    private struct State {
        var wanted: LadleAnnouncement?
        var program: KeptProgram?
        var isRunning = false
        var saidMissing = false
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "ladle.advertise")
    private let environment: [String: String]
    private let log: Log

    init(_ environment: [String: String], log: Log) {
        self.environment = environment
        self.log = log
    }

    /// Replaces the announcement; nil ends it.
    func announce(_ announcement: LadleAnnouncement?) {
        let (former, isIdle) = state.withLock { state in
            guard state.wanted != announcement else { return (KeptProgram?.none, false) }
            state.wanted = announcement
            let isIdle = !state.isRunning && announcement != nil
            if isIdle { state.isRunning = true }
            return (state.program, isIdle)
        }
        former?.stop()
        if isIdle { queue.async { [self] in run(AnnouncementPauses()) } }
    }

    func stop() { announce(nil) }

    /// Runs on the queue. The thread has to stay until the program ends, because the program ends with the thread.
    private func run(_ pauses: AnnouncementPauses) {
        let program = KeptProgram()
        let wanted = state.withLock { state in
            state.program = state.wanted == nil ? nil : program
            state.isRunning = state.wanted != nil
            return state.wanted
        }
        guard let wanted else { return }
        guard let publisher = Self.publisher(environment) else {
            if !state.withLock({ state in
                defer { state.saidMissing = true }
                return state.saidMissing
            }) {
                log.warning("advertise.failed", ["error": .string("\(Self.programName) is not installed")])
            }
            return again(after: Self.missingMilliseconds, pauses)
        }
        log.info("advertise.started", ["name": .string(wanted.name), "port": .int(wanted.port)])
        let begun = HostClock.monotonicMilliseconds
        var pauses = pauses
        let reason: String
        do throws(SystemError) {
            let result = try program.run(
                wanted.arguments(of: publisher),
                environment: Self.passedOn.compactMap { name in environment[name].map { "\(name)=\($0)" } },
                outputLimit: Self.outputBytes
            )
            reason = "status \(result.status): \(String(decoding: result.output, as: UTF8.self))"
        } catch {
            reason = "\(error)"
        }
        let ran = HostClock.monotonicMilliseconds - begun
        guard state.withLock({ $0.wanted == wanted }) else {
            return queue.async { [self] in run(AnnouncementPauses()) }
        }
        log.warning("advertise.ended", ["error": .string(reason)])
        again(after: pauses.pause(afterRunning: ran), pauses)
    }

    private func again(after milliseconds: Int64, _ pauses: AnnouncementPauses) {
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(milliseconds))) { [self] in run(pauses) }
    }

    // MARK: The program

    #if os(macOS)
    static let programName = "dns-sd"
    #else
    static let programName = "avahi-publish-service"
    #endif

    static func publisher(_ environment: [String: String]) -> LadleAnnouncement.Publisher? {
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        let path = folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(programName)" }.first(
            where: FileSystem.exists
        )
        #if os(macOS)
        return path.map { .dnssd(path: $0) }
        #else
        return path.map { .avahi(path: $0) }
        #endif
    }
}
