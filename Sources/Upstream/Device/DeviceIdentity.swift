import Basics
package import POSIX
package import TLS

/// Ladle's own Ed25519 key, made once and kept in the state directory. The gateway's command line has another key.
package struct DeviceIdentity: DeviceSigner, Sendable {
    package enum Problem: Error, Sendable {
        case file(SystemError)
        /// The file exists but holds no key. It is never replaced automatically, because every approval depends on the
        /// key.
        case damaged(path: String)
        case library(TLSError)
    }

    private let key: Ed25519PrivateKey
    package let deviceId: String
    package var publicKey: [UInt8] { key.publicKey.raw }

    package init(_ key: Ed25519PrivateKey) {
        self.key = key
        deviceId = Hex.encode(Digest.sha256(key.publicKey.raw))
    }

    /// Reads the key, or makes one if the file does not exist. Blocks.
    package static func loadOrCreate(at path: String) throws(Problem) -> DeviceIdentity {
        let file = PrivateFile(path)
        if let existing = try load(file) { return existing }
        let made = try generate()
        do throws(SystemError) {
            try file.create(made.pem)
        } catch {
            // Another process created the key first; that key is used.
            if let existing = try load(file) { return existing }
            throw .file(error)
        }
        return DeviceIdentity(made.key)
    }

    private static func load(_ file: PrivateFile) throws(Problem) -> DeviceIdentity? {
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try file.read()
        } catch {
            throw .file(error)
        }
        guard let bytes else { return nil }
        guard let key = try? Ed25519PrivateKey(pem: bytes) else { throw .damaged(path: file.path) }
        return DeviceIdentity(key)
    }

    private static func generate() throws(Problem) -> (key: Ed25519PrivateKey, pem: [UInt8]) {
        do throws(TLSError) {
            let key = try Ed25519PrivateKey.generate()
            return (key, try key.pem())
        } catch {
            throw .library(error)
        }
    }

    package func sign(_ message: [UInt8]) -> [UInt8]? { try? key.sign(message) }
}

extension DeviceIdentity.Problem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let error): "the device key cannot be read: \(error)"
        case .damaged(let path):
            "\(path) holds no key. Put the key back from a backup, or move the file away: a new key needs the approval "
                + "of the gateway's operator"
        case .library(let error): "no device key can be made: \(error)"
        }
    }
}
