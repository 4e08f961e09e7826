import Basics
import EventLoops
import Notifications
import Runs

/// Sends a reminder of a long-lived approval after half of its time.
final class ApprovalReminders {
    private unowned let gateway: any GatewayCalls
    private let approvals: ApprovalService
    private let maker: NotificationMaker
    private var timers: [String: TimerID] = [:]

    init(gateway: any GatewayCalls, approvals: ApprovalService, maker: NotificationMaker) {
        self.gateway = gateway
        self.approvals = approvals
        self.maker = maker
    }

    /// Called when an approval has changed.
    func changed(on loop: isolated EventLoop) {
        for (id, timer) in timers where approvals.item(id, on: loop)?.isPending != true {
            loop.cancel(timer)
            timers[id] = nil
        }
        for approval in approvals.waiting(on: loop) { wait(for: approval, on: loop) }
    }

    private func wait(for approval: Approval, on loop: isolated EventLoop) {
        let life = approval.expiresAt.milliseconds - approval.createdAt.milliseconds
        guard approval.isPending, life >= NotificationLimits.reminderLifeMs, timers[approval.id] == nil else { return }
        let half = approval.createdAt.milliseconds + life / 2
        let wait = half - approvals.gatewayTime(on: loop).milliseconds
        guard wait > 0 else { return }
        let id = approval.id
        timers[id] = loop.after(milliseconds: wait) { [weak self] in self?.remind(of: id, on: loop) }
    }

    private func remind(of id: String, on loop: isolated EventLoop) {
        guard let approval = approvals.item(id, on: loop), approval.isPending else { return }
        var occasion = approval.occasion(at: loop.wallClock)
        occasion.source += "/reminder"
        occasion.isReminder = true
        occasion.expiresAt = occasion.expiresAt?.adding(milliseconds: -gateway.clockSkewMs(on: loop))
        maker.tell(occasion, on: loop)
    }
}
