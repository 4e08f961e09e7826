import Basics
import EventLoops
import Notifications
import Observability

/// Tells when the link is away for long, and when it is back. A gateway that only restarts is nothing to tell.
final class LinkWatch {
    private var state: LinkState?
    private var timer: TimerID?
    private var wasTold = false
    private unowned let service: NotificationService

    init(_ service: NotificationService) { self.service = service }

    func changed(_ status: LinkStatus, on loop: isolated EventLoop) {
        defer { state = status.state }
        guard state != status.state else { return }
        let now = loop.wallClock
        switch status.state {
        case .connecting: break
        case .online:
            if let timer { loop.cancel(timer) }
            timer = nil
            guard wasTold else { return }
            wasTold = false
            service.tell(Occasion(.linkOnline, source: "link/\(now.milliseconds)/online", at: now), on: loop)
        case .waitingForApproval, .refused:
            if let timer { loop.cancel(timer) }
            timer = nil
            let type: NotificationType = status.state == .refused ? .linkRefused : .linkWaiting
            wasTold = true
            let text = [status.detail, status.hint].compactMap(\.self).joined(separator: "\n")
            service.tell(
                Occasion(type, source: "link/\(now.milliseconds)/\(status.state.rawValue)", at: now, text: text),
                on: loop
            )
        case .offline:
            // Ladle itself stops, or is told already.
            guard status.code != LinkStatus.stoppedCode, timer == nil, !wasTold else { return }
            let detail = status.detail
            timer = loop.after(milliseconds: NotificationLimits.offlineMs) { [weak self] in
                guard let self else { return }
                self.timer = nil
                self.wasTold = true
                let now = loop.wallClock
                self.service.tell(
                    Occasion(.linkOffline, source: "link/\(now.milliseconds)/offline", at: now, text: detail),
                    on: loop
                )
            }
        }
    }
}
