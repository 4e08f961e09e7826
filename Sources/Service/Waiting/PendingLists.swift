import EventLoops
import Gateway

/// The gateway's lists of approvals or questions that wait for people: how many of these Ladle can see, and when the
/// gateway is asked for the lists again.
package final class PendingLists {
    /// How many of the pending approvals or questions Ladle can see.
    package enum Sight: Equatable {
        /// The gateway was asked and listed all of them.
        case whole
        /// This release has no list: only the approvals requested while Ladle was connected are known.
        case unlisted
        case unanswered
        /// The lists have been requested.
        case asking
        case scopeMissing
        case offline

        /// Whether the approvals or questions shown as pending still are.
        package var isLive: Bool {
            switch self {
            case .whole, .unlisted, .unanswered: true
            case .asking, .scopeMissing, .offline: false
            }
        }
    }

    /// The first wait before asking again. A gateway that has just started may not answer, and what waits there stays
    /// unseen until it does.
    private static let firstWaitMs: Int64 = 2_000
    private static let longestWaitMs: Int64 = 60_000

    private unowned let gateway: any GatewayCalls
    /// The scope that the gateway requires for the lists.
    private let scope: String
    private(set) var sight = Sight.offline
    private(set) var isConnected = false
    /// The number of the last request; answers to earlier requests are ignored.
    private var request = 0
    private var waitMs = PendingLists.firstWaitMs

    init(gateway: any GatewayCalls, scope: String) {
        self.gateway = gateway
        self.scope = scope
    }

    var missingScope: GatewayFault {
        .missingScope(scope, required: [scope], hint: gateway.hint(toGain: scope))
    }

    func linkOpened() {
        isConnected = true
        waitMs = Self.firstWaitMs
    }

    func linkLost() {
        isConnected = false
        sight = .offline
        request += 1
    }

    /// Begins a request and returns its number. Nil if there is nothing to ask for.
    /// - Parameter lists: whether the gateway has any of the lists.
    func begin(lists: Bool) -> Int? {
        guard isConnected, let hello = gateway.hello else { return nil }
        request += 1
        // Gateways of earlier releases do not report the granted scopes.
        guard hello.scopes.isEmpty || Scopes.covers(hello.scopes, scope) else {
            sight = .scopeMissing
            return nil
        }
        guard lists else {
            sight = .unlisted
            return nil
        }
        if !sight.isLive { sight = .asking }
        return request
    }

    func isCurrent(_ request: Int) -> Bool { request == self.request && isConnected }

    func settle(as sight: Sight) {
        self.sight = sight
        waitMs = Self.firstWaitMs
    }

    /// The gateway did not answer: asks again later, unless another request begins first.
    func unanswered(_ request: Int, on loop: isolated EventLoop, again: @escaping () -> Void) {
        sight = .unanswered
        let wait = waitMs
        waitMs = min(2 * wait, Self.longestWaitMs)
        _ = loop.after(milliseconds: wait) { [weak self] in
            if self?.isCurrent(request) == true { again() }
        }
    }
}
