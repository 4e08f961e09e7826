import Basics
import EventLoops
import Notifications
import Observability

/// Tells when the link is away for long, and when it is back. A gateway that only restarts is nothing to tell, for as long as it
/// said that it takes.
final class LinkWatch {
    private var state: LinkState?
    private var timer: TimerID?
    /// Since the link was last online. The database remembers it over a restart of Ladle.
    private var told: Set<NotificationType> = []
    /// On the loop's clock: the gateway said that it is back by then.
    private var restartEnd: UInt64 = 0
    private unowned let service: NotificationService

    init(_ service: NotificationService) { self.service = service }

    func restarts(inMs milliseconds: Int64?, on loop: isolated EventLoop) {
        let expected = min(max(milliseconds ?? 0, 0), NotificationLimits.restartMs)
        restartEnd = loop.now + UInt64(expected) * 1_000_000
    }

    func changed(_ status: LinkStatus, on loop: isolated EventLoop) {
        defer { state = status.state }
        guard state != status.state else { return }
        switch status.state {
        case .connecting: break
        case .online:
            stop(on: loop)
            told = []
            restartEnd = 0
            service.linkIsBack(on: loop)
        case .waitingForApproval, .refused:
            stop(on: loop)
            let text = [status.detail, status.hint].compactMap(\.self).joined(separator: "\n")
            tell(status.state == .refused ? .linkRefused : .linkWaiting, text, on: loop)
        case .offline:
            // Ladle itself stops, or is told already.
            guard status.code != LinkStatus.stoppedCode, timer == nil, told.isEmpty else { return }
            let rest = restartEnd > loop.now ? Int64((restartEnd - loop.now) / 1_000_000) : 0
            let detail = status.detail
            timer = loop.after(milliseconds: max(NotificationLimits.offlineMs, rest)) { [weak self] in
                self?.timer = nil
                self?.tell(.linkOffline, detail, on: loop)
            }
        }
    }

    private func stop(on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// A link that is tried and refused again and again is told of once.
    private func tell(_ type: NotificationType, _ text: String, on loop: isolated EventLoop) {
        guard told.insert(type).inserted else { return }
        service.tellOfLink(type, text, on: loop)
    }
}
