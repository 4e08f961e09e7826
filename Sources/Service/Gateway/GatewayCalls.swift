package import EventLoops
package import Gateway
package import Observability
package import Upstream

/// The gateway as the services ask it, and the link as they show it: `UpstreamLink` in the program, a scripted one in tests.
package protocol GatewayCalls: AnyObject {
    var isOnline: Bool { get }
    /// The state of the link, for people.
    var status: LinkStatus { get }
    /// The last hello, also while the gateway is away.
    var hello: Hello? { get }
    /// How far the gateway's clock is ahead of ours.
    var clockSkewMs: Int64 { get }

    /// Sends one request; `completion` comes on the loop, exactly once. `params` is one JSON object.
    @discardableResult
    func call(
        method: String,
        params: [UInt8],
        timeoutMs: Int64,
        on loop: isolated EventLoop,
        completion: @escaping (CallOutcome) -> Void
    ) -> CallID

    /// The command that gives the link a scope it lacks.
    func hint(toGain scope: String) -> String

    /// Reads nothing more from the gateway for a while.
    func holdInput(_ isHeld: Bool, on loop: isolated EventLoop)

    /// The frames kept after this number; nil while frames are not kept.
    func frames(after number: Int64) -> ArraySlice<LoggedFrame>?

    func writeMetrics(to page: inout MetricsPage)
}

extension GatewayCalls {
    package func call<Call: GatewayCall>(
        _ call: Call,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Call.Output, CallFailure>) -> Void
    ) {
        self.call(method: Call.method, params: call.params, timeoutMs: call.timeoutMs, on: loop) { outcome in
            completion(CallFailure.result(of: Call.self, outcome))
        }
    }
}
