import EventLoops
import Upstream

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Looks again where the gateway is: every half minute while none was found, and on SIGHUP, which also takes a changed token
/// file or OpenClaw configuration into use and ends a wait.
struct GatewaySearch: Sendable {
    private static let seconds = 30

    let finder: GatewayFinder
    let loop: EventLoop
    let daemon: LoopBound<Daemon>

    func start(_ signals: Signals) {
        signals.watch(SIGHUP) { look(always: true) }
        again()
    }

    private func again() {
        BackgroundWork.after(seconds: Self.seconds) {
            look(always: false)
            again()
        }
    }

    private func look(always: Bool) {
        loop.post { loop in
            guard let link = daemon.value(on: loop)?.link, always || link.target == .notFound else { return }
            BackgroundWork.run { find() }
        }
    }

    private func find() {
        // A file that cannot be read now leaves things as they are.
        guard let found = try? finder.target(demo: nil) else { return }
        loop.post { loop in
            guard let link = daemon.value(on: loop)?.link else { return }
            // The same target again only where the link has given up on it, or waits.
            if found != link.target || link.status.state == .refused {
                link.configure(found, on: loop)
            } else {
                link.retryNow(on: loop)
            }
        }
    }
}
