package import Basics
import JSONBytes

/// The link to the gateway as the API tells it, without the gateway's address.
package struct BrokerLink: Sendable, Equatable {
    /// The states that the API documents. Home Assistant ignores a value that its description does not list.
    package enum State: String, CaseIterable, Sendable {
        case connecting, online, paused
        case waitingForApproval = "waiting_for_approval"
        case refused, offline
    }

    package var state: State
    package var code: String?
    package var detail: String
    package var hint: String?
    package var since: Timestamp
    package var protocolVersion: Int?
    package var gatewayVersion: String?
    package var scopes: [String]
    package var features: [String]
    package var retryAt: Timestamp?
    package var until: Timestamp?
    package var requestID: String?

    package init(
        state: State,
        code: String? = nil,
        detail: String,
        hint: String? = nil,
        since: Timestamp,
        protocolVersion: Int? = nil,
        gatewayVersion: String? = nil,
        scopes: [String] = [],
        features: [String] = [],
        retryAt: Timestamp? = nil,
        until: Timestamp? = nil,
        requestID: String? = nil
    ) {
        self.state = state
        self.code = code
        self.detail = detail
        self.hint = hint
        self.since = since
        self.protocolVersion = protocolVersion
        self.gatewayVersion = gatewayVersion
        self.scopes = scopes
        self.features = features
        self.retryAt = retryAt
        self.until = until
        self.requestID = requestID
    }

    /// The most names of a list: a gateway could send any number.
    private static let mostNames = 128

    package var payload: [UInt8] {
        JSONWriter.bytes(capacity: 1024) { object in
            object.member("state", state.rawValue)
            object.always("code", code.map { BrokerText.short($0) })
            object.member("detail", BrokerText.short(detail, limit: 1000))
            object.always("hint", hint.map { BrokerText.short($0, limit: 1000) })
            object.member("since", since)
            object.always("protocol", protocolVersion.map { Int64($0) })
            object.object("gateway") { $0.always("version", gatewayVersion.map { BrokerText.short($0) }) }
            object.array("scopes", of: scopes.prefix(Self.mostNames).map { BrokerText.short($0, limit: 100) })
            object.array("features", of: features.prefix(Self.mostNames).map { BrokerText.short($0, limit: 100) })
            object.always("retryAt", retryAt)
            object.always("until", until)
            object.always("requestId", requestID.map { BrokerText.short($0) })
        }
    }
}
