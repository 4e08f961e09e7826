import API
import Access
import Basics
import EventLoops
import Observability
import POSIX
import Synchronization
import TLS

/// Has tailscaled issue and renew the certificate for this host's name in the tailnet. An answer that can be used is written to its
/// file first; the listeners read it from there, now and at the next start.
final class TailnetCertificateKeeper: Sendable {
    private struct State {
        var schedule = CertificateSchedule()
        var isAsking = false
        /// The last outcome that was logged.
        var said = CertificateReport.Tailnet.waiting
        var hasSaidExpired = false
    }

    private let file: PrivateFile
    private let paths: [String]
    private let tls: ListenerTLS
    private let loop: EventLoop
    private let log: Log
    /// Makes the listeners read their files. Blocks on the disk.
    private let renew: @Sendable () -> Void
    private let state = Mutex(State())

    init(
        _ file: PrivateFile,
        tailscaled paths: [String],
        tls: ListenerTLS,
        loop: EventLoop,
        log: Log,
        renew: @escaping @Sendable () -> Void
    ) {
        self.file = file
        self.paths = paths
        self.tls = tls
        self.loop = loop
        self.log = log
        self.renew = renew
    }

    func start() {
        BackgroundWork.run { [self] in look() }
        BackgroundWork.after(milliseconds: Int(CertificateSchedule.lookMilliseconds)) { [self] in start() }
    }

    /// Asks tailscaled at once instead of at the scheduled time.
    func restart() {
        state.withLock { $0.schedule.restart() }
        BackgroundWork.run { [self] in look() }
    }

    private static var now: Timestamp { Timestamp(milliseconds: HostClock.wallMilliseconds) }

    /// Asks tailscaled if that is due and no question is under way.
    private func look() {
        sayIfExpired()
        let isDue = state.withLock { state in
            guard !state.isAsking, state.schedule.isDue(at: Self.now) else { return false }
            state.isAsking = true
            return true
        }
        guard isDue else { return }
        guard let found = Tailscaled.find(paths) else { return settle(.noTailscaled) }
        loop.post { [self] loop in askForName(found.path, on: loop) }
    }

    private func askForName(_ path: String, on loop: isolated EventLoop) {
        TailscaledClient.call(path, TailnetNames.request, on: loop) { [self] answer in
            do throws(CertificateObstacle) {
                ask(for: try TailnetCertificate.name(in: answer), path, on: loop)
            } catch {
                settle(error)
            }
        }
    }

    private func ask(for name: String, _ path: String, on loop: isolated EventLoop) {
        let request = TailnetCertificate.request(for: name)
        let deadline = TailnetCertificate.deadlineMilliseconds
        TailscaledClient.call(path, request, within: deadline, on: loop) { [self] answer in
            BackgroundWork.run { self.take(answer, for: name) }
        }
    }

    private func take(_ answer: TailscaledExchange.Answer, for name: String) {
        do throws(CertificateObstacle) {
            let identity = try TailnetCertificate.identity(in: answer, for: name, now: Self.now)
            do throws(SystemError) {
                if try file.read() != identity.chainPEM { try file.replace(with: identity.chainPEM) }
            } catch {
                throw .notKept("\(error)")
            }
            renew()
            settle(identity.info, for: name)
        } catch {
            settle(error)
        }
    }

    // MARK: Outcomes

    private func settle(_ info: CertificateInfo, for name: String) {
        let period = CertificatePeriod(notBefore: info.notBefore, notAfter: info.notAfter)
        let isNew = state.withLock { state in
            state.isAsking = false
            state.schedule.issued(period, at: Self.now)
            state.hasSaidExpired = false
            defer { state.said = .issued }
            return state.said != .issued
        }
        tls.note(.issued)
        guard isNew else { return }
        log.notice("tls.issued", ["name": .string(name), "notAfter": .string(info.notAfter.rfc3339)])
    }

    private func settle(_ obstacle: CertificateObstacle) {
        let isNew = state.withLock { state in
            state.isAsking = false
            state.schedule.failed(obstacle, at: Self.now)
            defer { state.said = .missing(obstacle) }
            return state.said != .missing(obstacle)
        }
        tls.note(.missing(obstacle))
        guard isNew else { return }
        log.warning("tls.notIssued", ["error": .string(obstacle.detail), "hint": .string(obstacle.hint)])
    }

    private func sayIfExpired() {
        guard let kept = tls.shown.first(where: { $0.source == .tailnet }), kept.period.notAfter <= Self.now else {
            return
        }
        let isNew = state.withLock { state in
            defer { state.hasSaidExpired = true }
            return !state.hasSaidExpired
        }
        guard isNew else { return }
        log.warning(
            "tls.expired",
            ["name": .string(kept.names.first), "notAfter": .string(kept.period.notAfter.rfc3339)]
        )
    }
}
