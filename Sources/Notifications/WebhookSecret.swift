import Basics

/// The key of a webhook's signatures, by Standard Webhooks 1.0.0, symmetric.
package struct WebhookSecret: Sendable, Equatable {
    private static let prefix = "whsec_"
    package static let bytes = 32

    private let key: [UInt8]

    package init(key: [UInt8]) { self.key = key }

    /// Reads `whsec_` and base64 of 24 to 64 bytes.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let key = Base64.decode(text.dropFirst(Self.prefix.count)),
            (24...64).contains(key.count)
        else { return nil }
        self.key = key
    }

    package var text: String { Self.prefix + Base64.encode(key) }

    /// - Parameter mac: computes the HMAC-SHA256 of a message under a key.
    func signature(id: String, timestamp: Int64, body: [UInt8], _ mac: ([UInt8], [UInt8]) -> [UInt8]) -> String {
        "v1," + Base64.encode(mac(key, Array("\(id).\(timestamp).".utf8) + body))
    }
}
