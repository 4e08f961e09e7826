package import EventLoops
package import Gateway
package import Ledger

extension GatewayCalls {
    /// Sends a call that changes something at once, or that not every release supports. Such calls never use the
    /// outbox, because the state may have changed by the time the gateway is back.
    package func control<Call: GatewayCall>(
        _ call: Call,
        needing capability: Capability,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Call.Output, GatewayFault>) -> Void
    ) {
        if let fault = obstacle(to: capability) { return completion(.failure(fault)) }
        self.call(call, on: loop) { [self] result in
            completion(result.mapError { GatewayFault($0, of: capability, over: self) })
        }
    }

    /// Sends one request that changes something, and waits for its answer.
    func control<Call: GatewayCall>(
        _ call: Call,
        needing capability: Capability,
        on loop: isolated EventLoop
    ) async throws(GatewayFault) -> Call.Output {
        if let fault = obstacle(to: capability) { throw fault }
        do throws(CallFailure) {
            return try await self.call(call, on: loop)
        } catch {
            throw GatewayFault(error, of: capability, over: self)
        }
    }

    /// The reason why a call is bound to fail now; nil if it may be sent.
    func obstacle(to capability: Capability) -> GatewayFault? {
        guard isOnline, let profile else { return .notConnected }
        return profile.offers(capability) ? nil : GatewayFault(lacking: capability, profile)
    }
}

extension GatewayFault {
    init(_ failure: CallFailure, of capability: Capability, over gateway: any GatewayCalls) {
        // Admin links get "unknown method"; others get a missing scope.
        if case .gateway(let error, _) = failure, error.message.hasPrefix("unknown method") {
            self.init(lacking: capability, gateway.profile)
            return
        }
        self.init(failure, over: gateway)
        guard case .missingScope(let scope, let required, let hint, nil) = self else { return }
        self = .missingScope(scope, required: required, hint: hint, capability: capability.rawValue)
    }

    init(lacking capability: Capability, _ profile: GatewayProfile?) {
        self = .unsupported(
            capability: capability.rawValue,
            needs: capability.firstRelease,
            gateway: profile?.version
        )
    }
}
