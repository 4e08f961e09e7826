import EventLoops
import Gateway
import Observability
import Upstream

/// Reads the token file and OpenClaw's configuration again: every half minute while no gateway is found or the link is
/// refused, and on SIGHUP. The link tries again if they say something new. SIGHUP also ends a wait for the next attempt.
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
            guard let link = daemon.value(on: loop)?.link, always || link.needsNewTarget else { return }
            BackgroundWork.run { find(always: always) }
        }
    }

    /// If a file cannot be read now, the target stays as it is.
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
            // An unchanged target is configured again only if the link has given up on it.
            if found != link.target || link.status.state == .refused {
                link.configure(found, on: loop)
            } else {
                link.retryNow(on: loop)
            }
        }
    }
}
