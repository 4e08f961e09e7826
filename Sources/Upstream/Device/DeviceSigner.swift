/// The key that names this Ladle to gateways. The key itself stays with the implementer.
package protocol DeviceSigner {
    /// The raw 32 bytes of the Ed25519 public key.
    var publicKey: [UInt8] { get }
    /// SHA-256 of the public key as lower-case hex: the name the gateway pairs.
    var deviceId: String { get }
    /// 64 bytes over exactly these bytes, without hashing them first. Nil when the library refuses.
    func sign(_ message: [UInt8]) -> [UInt8]?
}
