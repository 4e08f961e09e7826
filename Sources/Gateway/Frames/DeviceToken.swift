/// A token that a gateway issued to this device for one role; a secret.
package struct DeviceToken: Sendable, Equatable {
    package var token: String
    package var scopes: [String]
    package var issuedAtMs: Int64?

    package init(token: String, scopes: [String], issuedAtMs: Int64? = nil) {
        self.token = token
        self.scopes = scopes
        self.issuedAtMs = issuedAtMs
    }
}
