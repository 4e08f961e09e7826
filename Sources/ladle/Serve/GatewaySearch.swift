import EventLoops
import Gateway
import Observability
import Upstream

/// Looks again where the gateway is: every half minute while none was found that may be used, and on SIGHUP, which also takes a changed token
/// file or OpenClaw configuration into use and ends a wait.
struct GatewaySearch: Sendable {
    private static let milliseconds = 30_000

    let finder: GatewayFinder
    let loop: EventLoop
    let daemon: LoopBound<Daemon>
    let log: Log

    func start() {
        BackgroundWork.after(milliseconds: Self.milliseconds) {
            look(always: false)
            start()
        }
    }

    func look(always: Bool) {
        loop.post { loop in
            guard let link = daemon.value(on: loop)?.link, always || link.target.isLookedForAgain else { return }
            BackgroundWork.run { find(always: always) }
        }
    }

    /// A file that cannot be read now leaves things as they are.
    private func find(always: Bool) {
        let found: LinkTarget
        do {
            found = try finder.target(demo: nil)
        } catch {
            let reason = (error as? StartFailure)?.message ?? "\(error)"
            if always { log.warning("gateway.kept", ["error": .string(reason)]) }
            return
        }
        loop.post { loop in
            guard let link = daemon.value(on: loop)?.link, always || found != link.target else { return }
            // The same target again only where the link has given up on it, or waits.
            if found != link.target || link.status.state == .refused {
                link.configure(found, on: loop)
            } else {
                link.retryNow(on: loop)
            }
        }
    }
}
