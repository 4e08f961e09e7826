import JSONBytes

/// A device asks for the approval of the gateway's operator, or that has decided.
package struct PairingEvent: Sendable {
    package let requestId: String?
    /// Nil where it tells of a decision.
    package let request: DeviceRequest?
    /// `approved`, `rejected` or `expired`.
    package let decision: String?

    init(_ payload: JSONValue, _ kind: DeviceRequest.Kind, isResolved: Bool = false) {
        requestId = payload["requestId"]?.visibleIdentifier
        request = isResolved ? nil : DeviceRequest(payload, kind)
        decision = payload["decision"]?.identifier
    }
}
