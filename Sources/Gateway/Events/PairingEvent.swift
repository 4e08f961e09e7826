import JSONBytes

/// A device asks for the approval of the gateway's operator, or the operator has decided.
package struct PairingEvent: Sendable {
    package let requestId: String?
    /// The request; nil if the event reports a decision.
    package let request: DeviceRequest?
    /// `approved`, `rejected` or `expired`.
    package let decision: String?

    init(_ payload: JSONValue, _ kind: DeviceRequest.Kind, isResolved: Bool = false) {
        requestId = payload["requestId"]?.visibleIdentifier
        request = isResolved ? nil : DeviceRequest(payload, kind)
        decision = payload["decision"]?.identifier
    }
}
