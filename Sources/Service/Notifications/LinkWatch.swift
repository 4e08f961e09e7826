import Basics
import EventLoops
import Notifications
import Observability
import Store

/// Notifies when the link has been down for long, and when it is back. A restart of the gateway is not reported within
/// the time it announced.
final class LinkWatch {
    private static let subject = Notification.Subject(.link, "gateway")

    private let maker: NotificationMaker
    /// Whether the rules are known. Until then `early` is the last state of the link.
    private var isReady = false
    private var early: LinkStatus?
    private var state: LinkState?
    private var timer: TimerID?
    /// The states reported since the link was last online. The database remembers them across restarts of Ladle.
    private var told: Set<NotificationType> = []
    /// The time, on the loop's clock, by which a restarting gateway said it would be back.
    private var restartEnd: UInt64 = 0

    init(_ maker: NotificationMaker) { self.maker = maker }

    /// Called when the rules are known.
    func begin(on loop: isolated EventLoop) {
        isReady = true
        if let early { changed(early, on: loop) }
        early = nil
    }

    func restarts(inMs milliseconds: Int64?, on loop: isolated EventLoop) {
        let expected = min(max(milliseconds ?? 0, 0), NotificationLimits.restartMs)
        restartEnd = loop.now + UInt64(expected) * 1_000_000
    }

    func changed(_ status: LinkStatus, on loop: isolated EventLoop) {
        guard isReady else {
            early = status
            return
        }
        defer { state = status.state }
        guard state != status.state else { return }
        switch status.state {
        case .connecting: break
        case .online, .paused:
            stop(on: loop)
            told = []
            restartEnd = 0
            cameBack(on: loop)
        case .waitingForApproval, .refused:
            stop(on: loop)
            let text = [status.detail, status.hint].compactMap(\.self).joined(separator: "\n")
            tell(status.state == .refused ? .linkRefused : .linkWaiting, text, on: loop)
        case .offline:
            // Nothing to report if Ladle itself closed the link, or a report is pending or sent.
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

    /// Reports each state once until the link is back, even across a restart: a link may be tried and refused again and
    /// again.
    private func tell(_ type: NotificationType, _ text: String, on loop: isolated EventLoop) {
        guard told.insert(type).inserted else { return }
        let now = loop.wallClock
        var occasion = Occasion(type, source: "link/\(now.milliseconds)/\(type.rawValue)", at: now, text: text)
        occasion.subject = Self.subject
        let news = occasion
        maker.change(on: loop) { ruleset, transaction, changes in
            // A link that was reported as refused needs no second report as offline.
            let former = type == .linkOffline ? nil : type.rawValue
            guard try !transaction.notifications.isOpen(subject: Self.subject.key, type: former) else { return }
            try ruleset.create(news, in: &transaction, &changes)
        }
    }

    private func cameBack(on loop: isolated EventLoop) {
        let now = loop.wallClock
        let back = Occasion(.linkOnline, source: "link/\(now.milliseconds)/online", at: now)
        maker.change(on: loop) { ruleset, transaction, changes in
            guard try ruleset.end(Self.subject, in: &transaction, &changes) else { return }
            changes.ended.append(Self.subject)
            try ruleset.create(back, in: &transaction, &changes)
        }
    }
}
