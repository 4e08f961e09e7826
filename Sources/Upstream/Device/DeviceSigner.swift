/// Signs with the key that identifies this Ladle to gateways. The private key never leaves the implementation.
package protocol DeviceSigner {
    /// The raw 32 bytes of the Ed25519 public key.
    var publicKey: [UInt8] { get }
    /// SHA-256 of the public key as lower-case hex: the name the gateway pairs.
    var deviceId: String { get }
    /// A 64-byte signature over exactly these bytes, which are not hashed first. Nil if the crypto library fails.
    func sign(_ message: [UInt8]) -> [UInt8]?
}
