import Access
import Basics
import Commands
import Configuration
import EventLoops
import TLS

/// The certificate of the TCP listeners. Connections take the context of the moment, so a new certificate needs no
/// restart and drops no stream; one that cannot be used leaves the old one in place.
final class ListenerTLS: Sendable {
    enum Outcome: Equatable {
        case unchanged
        case replaced
        case kept(String)
    }

    private struct Loaded {
        var context: TLSServerContext
        var chain: [UInt8]
        var key: Secret
        var names: [String]
        var pin: [UInt8]
    }

    private let certificatePath: String
    private let keyPath: String
    private let clients: ClientCertificates
    private let loaded: Locked<Loaded>

    /// nil where no certificate is configured.
    static func make(_ settings: Settings) throws -> ListenerTLS? {
        switch (settings.text(.tlsCert), settings.text(.tlsKey)) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            let clients = try clientRule(settings.list(.tlsClientAllow), authorities: settings.text(.tlsClientCA))
            return try ListenerTLS(certificate: certificate, key: key, clients: clients)
        default:
            throw StartFailure(message: "tls.cert and tls.key belong together: give both", status: .configuration)
        }
    }

    private static func clientRule(_ list: [String], authorities: String?) throws -> ClientCertificates {
        var allowed: Set<[UInt8]> = []
        for text in list {
            guard let bytes = Hex.decode(text.lowercased().filter { $0 != ":" }), bytes.count == 32 else {
                throw StartFailure(
                    message: "tls.clientAllow: \(text.prefix(80)) is not a SHA-256 fingerprint (64 hexadecimal digits)",
                    status: .configuration
                )
            }
            allowed.insert(bytes)
        }
        guard let authorities else { return allowed.isEmpty ? .none : .required(allowed: allowed) }
        do throws(TextFile.Fault) {
            return .issued(by: try TextFile.read(authorities), allowed: allowed)
        } catch {
            throw StartFailure(message: "tls.clientCa: \(error.message)", status: .configuration)
        }
    }

    private init(certificate: String, key: String, clients: ClientCertificates) throws {
        certificatePath = certificate
        keyPath = key
        self.clients = clients
        do throws(Fault) {
            loaded = Locked(try Self.load(certificate, key, clients))
        } catch {
            throw StartFailure(message: error.message, status: .configuration)
        }
    }

    var context: TLSServerContext { loaded.withLock { $0.context } }
    /// The DNS names of the certificate: clients use them in `Host`.
    var names: [String] { loaded.withLock { $0.names } }
    var pin: String { Hex.encode(loaded.withLock { $0.pin }) }

    /// Reads the files again; blocks on the disk.
    func reload() -> Outcome {
        do throws(Fault) {
            let fresh = try Self.load(certificatePath, keyPath, clients)
            return loaded.withLock { current in
                guard fresh.chain != current.chain || fresh.key != current.key else { return .unchanged }
                current = fresh
                return .replaced
            }
        } catch {
            return .kept(error.message)
        }
    }

    private struct Fault: Error {
        let message: String
    }

    private static func load(
        _ certificate: String,
        _ key: String,
        _ clients: ClientCertificates
    ) throws(Fault) -> Loaded {
        let chain: [UInt8]
        do throws(TextFile.Fault) {
            chain = try TextFile.read(certificate)
        } catch {
            throw Fault(message: "tls.cert: \(error.message)")
        }
        let secret: Secret
        do throws(SecretFile.Fault) {
            secret = try SecretFile.read(key)
        } catch {
            throw Fault(message: "tls.key: \(error.description)" + (error.hint.map { "; run: \($0)" } ?? ""))
        }
        do throws(TLSError) {
            let identity = try TLSIdentity(chainPEM: chain, keyPEM: Array(secret.reveal().utf8) + [0x0A])
            return Loaded(
                context: try TLSServerContext(identities: [identity], clientCertificates: clients),
                chain: chain,
                key: secret,
                names: identity.info.names.compactMap { name in
                    if case .dns(let text) = name, !text.hasPrefix("*") { text } else { nil }
                },
                pin: identity.info.sha256
            )
        } catch {
            throw Fault(message: "\(certificate) and \(key): \(error)")
        }
    }
}

/// `ladle tls self-signed`: a certificate for a host that has no other, which clients trust by its fingerprint.
enum SelfSignedFiles {
    /// Neither file is replaced when it exists; both are 0600.
    /// - Returns: the SHA-256 fingerprint to give to clients.
    static func write(
        certificate: String,
        key: String,
        names: [String],
        days: Int = 365
    ) throws(StartFailure) -> String {
        let made: SelfSignedCertificate
        do throws(TLSError) {
            made = try SelfSignedCertificate.make(names: names, validDays: days)
        } catch {
            throw StartFailure(message: "\(error)", status: .usage)
        }
        do throws(SecretFile.Fault) {
            try SecretFile.create(key, Secret(String(decoding: made.keyPEM, as: UTF8.self)))
            try SecretFile.create(certificate, Secret(String(decoding: made.certificatePEM, as: UTF8.self)))
        } catch {
            throw StartFailure(message: error.description, status: .noPermission)
        }
        return Hex.encode(made.pin)
    }
}
