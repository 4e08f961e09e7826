package import Basics

/// Sizes of what goes to a broker and comes from it.
package enum BrokerLimits {
    /// Home Assistant keeps no state of more than 255 Unicode scalars.
    static let shortScalars = 254
    package static let activityBytes = 4 << 10
    /// The recorder of Home Assistant drops attributes of more than 16 KiB.
    package static let replyTextBytes = 12 << 10
    package static let discoveryBytes = 32 << 10
    package static let resultBytes = 128 << 10
    static let topicBytes = 200

    static let commandTextBytes = 64 << 10
    static let commandJSONBytes = 1 << 20
    /// The longest `id` of a command, and the longest user property `idempotency-key`.
    static let keyBytes = 120
    /// Longer correlation data is echoed, but it is no idempotency key.
    static let correlationKeyBytes = 64
    /// Seconds; the API's limit of `ttlSeconds`.
    static let longestExpiry: UInt32 = 2_592_000

    /// Admits commands of all topics together.
    package static var commandRate: TokenBucket { TokenBucket(burst: 20, perSecond: 5) }
}
