/// HMAC-SHA256 (RFC 2104).
package enum HMAC {
    private static let blockBytes = 64

    package static func sha256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var block = key.count > blockBytes ? Digest.sha256(key) : key
        block += [UInt8](repeating: 0, count: blockBytes - block.count)
        let inner = Digest.sha256(block.map { $0 ^ 0x36 } + message)
        return Digest.sha256(block.map { $0 ^ 0x5C } + inner)
    }
}
