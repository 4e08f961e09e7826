import EventLoops
import Gateway
import Ledger

/// Asks a gateway that grants this device less than Ladle is configured for to let its owner grant the rest, while the link stands.
/// Gateways before September 2026 need a command on their host instead, which the link's hint names.
final class ScopeUpgrade {
    private unowned let gateway: any GatewayCalls
    /// The request that waits for the owner. A new connection goes on with it instead of asking once more.
    private var request: (id: String, scopes: [String])?
    /// The owner did not grant these. They are asked for again by the next process of Ladle, or when others are configured.
    private var refused: [String]?
    private var isWaiting = false

    init(gateway: any GatewayCalls) { self.gateway = gateway }

    func linkOpened(on loop: isolated EventLoop) {
        guard gateway.profile?.upgradesScopes == true, !isWaiting, let scopes = gateway.scopesToGain, scopes != refused
        else { return }
        if request?.scopes != scopes { request = nil }
        isWaiting = true
        loop.start { [self] in
            await gain(scopes, on: loop)
            isWaiting = false
        }
    }

    private func gain(_ scopes: [String], on loop: isolated EventLoop) async {
        do throws(CallFailure) {
            let id =
                if let request { request.id } else {
                    try await gateway.call(ScopeUpgradeRequest(scopes: scopes), on: loop)
                }
            request = (id, scopes)
            while true {
                gateway.awaitsScopes(request: id, on: loop)
                switch try await gateway.call(ScopeUpgradeWait(requestId: id), on: loop) {
                case .undecided: continue
                case .over: refused = scopes
                case .approved(let token): gateway.gainedScopes(token, on: loop)
                }
                return request = nil
            }
        } catch {
            // A role that the gateway's owner has assigned cannot be extended in this way. After a break the next connection goes on.
            guard case .gateway = error else { return }
            (request, refused) = (nil, request == nil ? scopes : nil)
        }
    }
}
