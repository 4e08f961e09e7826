import API
import Access
import EventLoops
import Service

/// Keeps track of this host's tailscaled, which may start after Ladle or restart as another user. Tailscaled connects to Ladle on
/// behalf of its peers: without its uid, Ladle could take a peer for the owner.
final class TailscaledWatch {
    private static let lookMilliseconds: Int64 = 10_000
    /// The names are asked for at every sixth look, because somebody may rename this host in the tailnet.
    private static let looksBetweenNames = 6

    private let paths: [String]
    private let access: AccessService
    private let rules: HostRules
    private var known: Tailscaled?
    private var looksUntilNames = 0
    private var timer: TimerID?

    init(paths: [String], access: AccessService, rules: HostRules) {
        self.paths = paths
        self.access = access
        self.rules = rules
    }

    func start(on loop: isolated EventLoop) {
        look()
        askForNames(on: loop)
        timer = loop.after(milliseconds: Self.lookMilliseconds) { [weak self] in self?.start(on: loop) }
    }

    func stop(on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// Called for a new connection: tailscaled may have started a moment ago.
    func lookIfUnknown() {
        if known == nil { look() }
    }

    /// The names stay as they were while tailscaled does not say.
    private func askForNames(on loop: isolated EventLoop) {
        guard let path = known?.path else { return }
        looksUntilNames -= 1
        guard looksUntilNames < 0 else { return }
        looksUntilNames = Self.looksBetweenNames
        TailscaledClient(path: path).askForNames(on: loop) { [weak self] names in
            guard let self else { return }
            if let names { self.rules.tailnetNames = names } else { self.looksUntilNames = 0 }
        }
    }

    /// A tailscaled that is gone stays known: while it restarts, its peers must not become the owner.
    private func look() {
        guard let found = Tailscaled.find(paths), found != known else { return }
        known = found
        access.authenticator.settings.tailscaledUID = found.uid
        access.whois = TailscaledClient(path: found.path)
    }
}
