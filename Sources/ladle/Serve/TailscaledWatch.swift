import API
import Access
import EventLoops
import Service

/// Knows this host's tailscaled, which may start after us or come back under another user. It connects to us in its peers'
/// place, so that not to know it could take a peer for the owner.
final class TailscaledWatch {
    private static let lookMilliseconds: Int64 = 10_000

    private let paths: [String]
    private let access: AccessService
    private var known: Tailscaled?
    private var timer: TimerID?

    init(paths: [String], access: AccessService) {
        self.paths = paths
        self.access = access
    }

    func start(on loop: isolated EventLoop) {
        look()
        timer = loop.after(milliseconds: Self.lookMilliseconds) { [weak self] in self?.start(on: loop) }
    }

    func stop(on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// For a connection that has just come: tailscaled may have started a moment ago.
    func lookIfUnknown() {
        if known == nil { look() }
    }

    /// One that has gone stays known: its peers must not turn into the owner while it restarts.
    private func look() {
        guard let found = Tailscaled.find(paths), found != known else { return }
        known = found
        access.authenticator.settings.tailscaledUID = found.uid
        access.whois = TailscaledClient(path: found.path)
    }
}
