import Basics
package import EventLoops
package import Gateway
package import Ledger
package import Observability
package import Upstream

/// The gateway and its link as the services use them: `UpstreamLink` in the program, a scripted one in tests.
package protocol GatewayCalls: AnyObject {
    var isOnline: Bool { get }
    /// The state of the link, for people.
    var status: LinkStatus { get }
    /// The port of the gateway's address; nil if there is no gateway to connect to.
    var port: UInt16? { get }
    /// The last hello, kept while the gateway is away.
    var hello: Hello? { get }
    /// The conduct of its release, as that hello shows it.
    var profile: GatewayProfile? { get }
    /// How far the gateway's clock is ahead of ours, which may be set at any time.
    func clockSkewMs(on loop: isolated EventLoop) -> Int64
    /// How long the newest connection took up to its hello; nil if that is not known.
    var openingMs: Int64? { get }

    /// Sends one request; `completion` comes on the loop, exactly once. `params` is one JSON object.
    @discardableResult
    func call(
        method: String,
        params: [UInt8],
        timeoutMs: Int64,
        on loop: isolated EventLoop,
        completion: @escaping (CallOutcome) -> Void
    ) -> CallID

    /// The command that grants the link a scope it lacks.
    func hint(toGain scope: String) -> String

    /// All scopes that Ladle is configured for, if the gateway grants fewer.
    var scopesToGain: [String]? { get }
    /// The gateway's owner may grant them under this id.
    func awaitsScopes(request: String, on loop: isolated EventLoop)
    /// They were granted: connects anew, with the token if there is a new one.
    func gainedScopes(_ token: DeviceToken?, on loop: isolated EventLoop)

    /// Stops reading from the gateway, or resumes.
    func holdInput(_ isHeld: Bool, on loop: isolated EventLoop)

    /// The frames kept after this number; nil if frames are not kept.
    func frames(after number: Int64) -> ArraySlice<LoggedFrame>?

    /// The names of all that the gateway sent.
    var names: GatewayNames { get }

    func writeMetrics(to page: inout MetricsPage, on loop: isolated EventLoop)
}

extension GatewayCalls {
    package var port: UInt16? { nil }
    package var openingMs: Int64? { nil }
    package var names: GatewayNames { GatewayNames() }

    /// The current time on the gateway's clock. A step of our own clock does not change it.
    func gatewayTime(on loop: isolated EventLoop) -> Timestamp {
        loop.wallClock.adding(milliseconds: clockSkewMs(on: loop))
    }

    package func call<Call: GatewayCall>(
        _ call: Call,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Call.Output, CallFailure>) -> Void
    ) {
        self.call(method: Call.method, params: call.params, timeoutMs: call.timeoutMs, on: loop) { outcome in
            completion(CallFailure.result(of: Call.self, outcome))
        }
    }

    /// Sends one request and waits for its answer.
    package func call<Call: GatewayCall>(
        _ call: Call,
        on loop: isolated EventLoop
    ) async throws(CallFailure) -> Call.Output {
        try await loop.wait { self.call(call, on: loop, completion: $0) }.get()
    }
}
