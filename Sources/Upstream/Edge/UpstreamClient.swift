package import EventLoops

/// The link for code that runs elsewhere: each call hops to the loop and back.
package struct UpstreamClient: Sendable {
    private let loop: EventLoop
    private let link: LoopBound<UpstreamLink>

    package init(_ link: UpstreamLink, on loop: isolated EventLoop) {
        self.loop = loop
        self.link = LoopBound(link, on: loop)
    }

    package func call<Call: GatewayCall>(
        _ call: Call,
        timeoutMs: Int64? = nil
    ) async -> Result<Call.Output, CallFailure> {
        await withCheckedContinuation { continuation in
            loop.post { [link] loop in
                guard let link = link.value(on: loop) else {
                    return continuation.resume(returning: .failure(.notDispatched(.stopped)))
                }
                link.call(call, timeoutMs: timeoutMs, on: loop) { continuation.resume(returning: $0) }
            }
        }
    }
}
