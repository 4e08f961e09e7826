import Basics
import Commands
import Configuration
import EventLoops
import Gateway
import JSONBytes
import Ledger
import Observability
import POSIX
import TLS
import Upstream

/// Checks the connection to the gateway.
enum LinkCheck {
    static func findings(_ link: JSONValue?) -> [Finding] {
        let state = link?["state"]?.string ?? "unknown"
        let code = link?["code"]?.string
        let detail = link?["detail"]?.string ?? ""
        var list: [Finding] = []
        if state == "online", code == nil {
            list.append(.fine("gateway", "\(link?["url"]?.string ?? "") is connected"))
            list += release(link?["gateway"]?["version"]?.string)
        } else {
            let text = "\(detail) (\(code ?? state))"
            let exit: ExitCode =
                switch state {
                case "online", "refused", "waiting_for_approval": .noPermission
                default: .unavailable
                }
            list.append(.wrong("gateway", text, hint(link, code), exit))
        }
        let scopes = link?["scopes"]?.elements.compactMap(\.string) ?? []
        if state == "online", code == nil, !Scopes.covers(scopes, Scopes.write) {
            let granted = scopes.isEmpty ? "no scope" : scopes.joined(separator: ", ")
            let text = "the link asks for \(granted) alone, so that sends are refused"
            list.append(.wrong("scopes", text, "ladle serve --gateway-scopes read,write", .noPermission))
        }
        if state == "online", code == nil { list.append(approvals(scopes)) }
        if let skew = link?["clockSkewMs"]?.int {
            let text = "this host's clock is \(abs(skew) / 1000) s \(skew > 0 ? "behind" : "ahead of") the gateway's"
            list.append(.wrong("clock", text, clockHint, .unavailable))
        } else if state == "online" {
            list.append(.fine("clock", "it agrees with the gateway's"))
        }
        return list
    }

    /// The conduct of releases decides about messages, and that of the newest is only read.
    private static func release(_ version: String?) -> [Finding] {
        guard let version, GatewayProfile.isUntried(version) else { return [] }
        let text =
            "the gateway is \(Printable.argument(version)): read, not run. The newest that Ladle has been run with is "
            + "\(GatewayProfile.newestTried), and what later ones do is known from their sources and documents alone. "
            + "A report helps: ladle doctor --report"
        return [.fine("release", text)]
    }

    /// A link that does not see approvals may be intended: it is the default if the gateway is on another host.
    private static func approvals(_ scopes: [String]) -> Finding {
        guard !Scopes.covers(scopes, Scopes.approvals) else { return .fine("approvals", "the link sees them") }
        let wanted = (scopes + [Scopes.approvals]).map { $0.hasPrefix("operator.") ? String($0.dropFirst(9)) : $0 }
        let setting = "ladle serve --gateway-scopes \(wanted.joined(separator: ","))"
        return .fine(
            "approvals",
            "the link does not see commands that wait for one; gateway.scopes lets it: \(setting)"
        )
    }

    private static var clockHint: String {
        #if os(Linux)
        "sudo timedatectl set-ntp true"
        #else
        "sudo sntp -sS time.apple.com"
        #endif
    }

    /// Some hints of the link only point to the doctor. The doctor then names the command itself.
    private static func hint(_ link: JSONValue?, _ code: String?) -> String {
        if code == "UPGRADE_REFUSED" || code == "NOT_A_GATEWAY" { return "ladle discover" }
        if let hint = link?["hint"]?.string, hint != "ladle doctor" { return hint }
        switch code {
        case "GATEWAY_NOT_FOUND": return "ladle serve --gateway ws://HOST:18789 --token-file FILE"
        case "DEVICE_AUTH_SIGNATURE_EXPIRED": return clockHint
        default:
            if code?.hasPrefix("DEVICE_") ?? false { return "openclaw devices list" }
            return "openclaw gateway status   (on the gateway's host)"
        }
    }

    // MARK: Without a server

    /// The time for the gateway to accept or refuse Ladle. A gateway may answer nothing in the first 16 seconds after its start.
    private static let patienceMilliseconds: Int64 = 20_000

    static func ownLook(_ settings: Settings, _ places: SettingsPlaces, state: String) async -> [Finding] {
        guard !settings.bool(.demo) else { return [] }
        let target: LinkTarget
        do {
            target = try GatewayFinder(settings: settings, places: places).target(demo: nil)
        } catch {
            let text = (error as? StartFailure)?.message ?? "\(error)"
            return [.wrong("gateway", text, "ladle config check", .configuration)]
        }
        // Connects only with the key that `serve` uses: a new key would leave a pairing request at the gateway.
        let key = SavedState.deviceKey(in: state)
        guard FileSystem.exists(key) else {
            guard case .none(let rejection, _) = target else { return [] }
            return [.wrong("gateway", rejection.detail, rejection.hint ?? "ladle discover")]
        }
        let device: DeviceIdentity
        do {
            device = try DeviceIdentity.loadOrCreate(at: key)
        } catch {
            return [.wrong("gateway", "\(error)", "mv \(key) \(key).old")]
        }
        let stored = try? SavedState.deviceTokenFile(in: state).read().map { try DeviceTokenStore(parsing: $0) }
        guard let loop = try? EventLoop(label: "ladle.doctor") else { return [] }
        loop.start()
        let status = await loop.look(at: target, device, stored ?? DeviceTokenStore(), patienceMilliseconds)
        await loop.stop()
        var writer = JSONWriter()
        status.write(to: &writer)
        return findings((try? JSONDocument(parsing: writer.bytes))?.root)
    }
}

extension EventLoop {
    fileprivate func look(
        at target: LinkTarget,
        _ device: DeviceIdentity,
        _ tokens: DeviceTokenStore,
        _ milliseconds: Int64
    ) async -> LinkStatus {
        let link = UpstreamLink(target: target, signer: device, tokens: tokens, on: self)
        let first = FirstLinkStatus()
        link.handler = first
        let status = await withCheckedContinuation { (done: CheckedContinuation<LinkStatus, Never>) in
            first.waiter = done
            link.start(on: self)
            after(milliseconds: milliseconds) { first.settle(link.status) }
        }
        link.stop(on: self)
        return status
    }
}

/// Waits for the first state after `connecting`.
private final class FirstLinkStatus: UpstreamLinkHandler {
    var waiter: CheckedContinuation<LinkStatus, Never>?

    func settle(_ status: LinkStatus) {
        waiter?.resume(returning: status)
        waiter = nil
    }

    func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop) {
        if status.state != .connecting { settle(status) }
    }

    func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {}
    func linkReceived(_ event: GatewayEvent, on loop: isolated EventLoop) {}
    func linkLost(events: Int64, on loop: isolated EventLoop) {}
    func linkLearned(_ outcome: CallOutcome, of call: CallID, on loop: isolated EventLoop) {}
    func linkTokensChanged(_ tokens: DeviceTokenStore, on loop: isolated EventLoop) {}
    func linkLogged(_ entry: LoggedFrame, on loop: isolated EventLoop) {}
}
