import API
import Access
import Basics
import Commands
import Configuration
import Synchronization
import TLS

/// The certificates of the TCP listeners. Each new connection uses the newest ones, so that a new certificate needs no
/// restart and drops no stream. If the new files cannot be used, the old certificates stay.
final class ListenerTLS: Sendable {
    enum Outcome: Equatable {
        case unchanged
        case replaced
        case kept(String)
    }

    private struct Files {
        let pairs: [(certificate: String, key: String)]
        let authorities: String?
        let allowedClients: Set<[UInt8]>
    }

    private struct Contents: Equatable {
        var pairs: [Pair] = []
        var clients: ClientCertificates
    }

    private struct Pair: Equatable {
        var chain: [UInt8]
        var key: Secret
    }

    private struct Loaded {
        var context: TLSServerContext
        var contents: Contents
        var names: [String]
        var pins: [String]
        /// The first certificate, for devices.
        var shown: ShownCertificate?
    }

    private let files: Files
    private let loaded: Mutex<Loaded>

    /// Nil if no certificate is configured.
    static func make(_ settings: Settings, _ places: SettingsPlaces) throws -> ListenerTLS? {
        let (certificates, keys) = (settings.list(.tlsCert), settings.list(.tlsKey))
        guard certificates.count == keys.count else {
            throw StartFailure(
                message: "tls.cert and tls.key belong together: give as many of one as of the other",
                status: .configuration
            )
        }
        if certificates.isEmpty { return nil }
        return try ListenerTLS(
            Files(
                pairs: zip(certificates, keys).map { (places.expanded($0), places.expanded($1)) },
                authorities: settings.text(.tlsClientCA).map(places.expanded),
                allowedClients: try fingerprints(settings.list(.tlsClientAllow))
            )
        )
    }

    private static func fingerprints(_ list: [String]) throws -> Set<[UInt8]> {
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
        return allowed
    }

    private init(_ files: Files) throws {
        self.files = files
        do throws(Fault) {
            loaded = Mutex(try Self.load(files))
        } catch {
            throw StartFailure(message: error.message, status: .configuration)
        }
    }

    var context: TLSServerContext { loaded.withLock { $0.context } }
    /// The DNS names of the certificates: clients use them in `Host`.
    var names: [String] { loaded.withLock { $0.names } }
    var pins: [String] { loaded.withLock { $0.pins } }
    var shown: ShownCertificate? { loaded.withLock { $0.shown } }

    /// Reads the files again; blocks on the disk.
    func reload() -> Outcome {
        do throws(Fault) {
            let fresh = try Self.load(files)
            return loaded.withLock { current in
                guard fresh.contents != current.contents else { return .unchanged }
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

    private static func load(_ files: Files) throws(Fault) -> Loaded {
        var contents = Contents(clients: try clients(files))
        var identities: [TLSIdentity] = []
        for one in files.pairs {
            let pair = try read(one.certificate, one.key)
            do throws(TLSError) {
                let key = Array(pair.key.reveal().utf8) + [0x0A]
                identities.append(try TLSIdentity(chainPEM: pair.chain, keyPEM: key))
            } catch {
                throw Fault(message: "\(one.certificate) and \(one.key): \(error)")
            }
            contents.pairs.append(pair)
        }
        do throws(TLSError) {
            let names = identities.map { Self.names(of: $0.info) }
            let shown = identities.first.map {
                ShownCertificate(
                    names: names[0],
                    sha256: $0.info.sha256,
                    isSelfSigned: $0.info.isSelfSigned
                )
            }
            return Loaded(
                context: try TLSServerContext(identities: identities, clientCertificates: contents.clients),
                contents: contents,
                names: names.flatMap(\.self),
                pins: identities.map { Hex.encode($0.info.sha256) },
                shown: shown
            )
        } catch {
            throw Fault(message: "\(error)")
        }
    }

    private static func names(of info: CertificateInfo) -> [String] {
        info.names.compactMap { name in
            if case .dns(let text) = name, !text.hasPrefix("*") { text } else { nil }
        }
    }

    private static func clients(_ files: Files) throws(Fault) -> ClientCertificates {
        let allowed = files.allowedClients
        guard let path = files.authorities else { return allowed.isEmpty ? .none : .required(allowed: allowed) }
        return .issued(by: try read(path, as: .tlsClientCA), allowed: allowed)
    }

    private static func read(_ path: String, as key: ConfigurationKey) throws(Fault) -> [UInt8] {
        do throws(TextFile.Fault) {
            return try TextFile.read(path)
        } catch {
            throw Fault(message: "\(key.name): \(error.message)")
        }
    }

    private static func read(_ certificate: String, _ key: String) throws(Fault) -> Pair {
        let chain = try read(certificate, as: .tlsCert)
        do throws(SecretFile.Fault) {
            return Pair(chain: chain, key: try SecretFile.read(key))
        } catch {
            throw Fault(message: "tls.key: \(error.description)" + (error.hint.map { "; run: \($0)" } ?? ""))
        }
    }
}
