import Basics
package import POSIX
package import TLS

/// Ladle's own Ed25519 key, never shared with the gateway's command line: made once, kept in the state directory.
package struct DeviceIdentity: DeviceSigner, Sendable {
    package enum Problem: Error, Sendable {
        case file(SystemError)
        /// The file is there but holds no key: never replaced by itself, as every approval hangs on it.
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

    /// Reads the key, or makes one where there is none. Blocks.
    package static func loadOrCreate(at path: String) throws(Problem) -> DeviceIdentity {
        let file = PrivateFile(path)
        if let existing = try load(file) { return existing }
        let made = try generate()
        do throws(SystemError) {
            try file.create(made.pem)
        } catch {
            // Another start was faster; its key counts.
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
