import API
import Access
import Basics
import Commands
import Configuration
import POSIX
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
        var shown: [ShownCertificate]
    }

    private let settings: TLSSettings
    private let loaded: Mutex<Loaded>
    private let tailnet: Mutex<CertificateReport.Tailnet>

    /// Reads the files, and makes Ladle's own certificate if there is none yet.
    init(_ settings: TLSSettings) throws(StartFailure) {
        self.settings = settings
        tailnet = Mutex(settings.tailnet == nil ? .unwanted : .waiting)
        do throws(Fault) {
            if let own = settings.own { try OwnCertificate.makeIfMissing(own) }
            loaded = Mutex(try Self.load(settings))
        } catch {
            throw StartFailure(message: error.message, status: .configuration)
        }
    }

    var context: TLSServerContext { loaded.withLock { $0.context } }
    /// The DNS names of the certificates. Clients send them in `Host`.
    var names: [String] { shown.flatMap(\.names) }
    var shown: [ShownCertificate] { loaded.withLock { $0.shown } }
    var report: CertificateReport { CertificateReport(certificates: shown, tailnet: tailnet.withLock(\.self)) }

    /// Records the result of the last question to tailscaled.
    func note(_ outcome: CertificateReport.Tailnet) {
        tailnet.withLock { $0 = outcome }
    }

    /// Reads the files again; blocks on the disk.
    func reload() -> Outcome {
        do throws(Fault) {
            let fresh = try Self.load(settings)
            return loaded.withLock { current in
                guard fresh.contents != current.contents else { return .unchanged }
                current = fresh
                return .replaced
            }
        } catch {
            return .kept(error.message)
        }
    }

    struct Fault: Error {
        let message: String
    }

    /// The certificates that a start would load. A start might also make one, which this function does not.
    static func look(_ settings: TLSSettings) throws(StartFailure) -> [ShownCertificate] {
        do throws(Fault) {
            return try read(settings).shown
        } catch {
            throw StartFailure(message: error.message, status: .configuration)
        }
    }

    private static func load(_ settings: TLSSettings) throws(Fault) -> Loaded {
        let (identities, contents, shown) = try read(settings)
        // Without Ladle's own certificate, the tailnet's would be shown first, and no pinned certificate would match.
        if let own = settings.own, shown.first?.source != .own {
            throw Fault(message: "\(own.path) is gone; devices know the certificate in it")
        }
        do throws(TLSError) {
            let context = try TLSServerContext(identities: identities, clientCertificates: contents.clients)
            return Loaded(context: context, contents: contents, shown: shown)
        } catch {
            throw Fault(message: "\(error)")
        }
    }

    private static func read(
        _ settings: TLSSettings
    ) throws(Fault) -> (identities: [TLSIdentity], contents: Contents, shown: [ShownCertificate]) {
        var contents = Contents(clients: try clients(settings))
        var identities: [TLSIdentity] = []
        var shown: [ShownCertificate] = []
        func add(_ pair: Pair, _ source: ShownCertificate.Source) throws(TLSError) {
            let key = Array(pair.key.reveal().utf8) + [0x0A]
            let identity = try TLSIdentity(chainPEM: pair.chain, keyPEM: key)
            identities.append(identity)
            shown.append(ShownCertificate(identity.info, source))
            contents.pairs.append(pair)
        }
        for files in settings.pairs {
            let pair = try read(files)
            do throws(TLSError) {
                try add(pair, .files)
            } catch {
                throw Fault(message: "\(files.certificate) and \(files.key): \(error)")
            }
        }
        if let own = settings.own, let pair = try read(own) {
            do throws(TLSError) {
                try add(pair, .own)
            } catch {
                throw Fault(
                    message: "\(own.path): \(error); without it, ladle serve makes a new one that devices do not know"
                )
            }
        }
        // A fault of the tailnet's certificate is no fault of the start: tailscaled can issue it again.
        if let tailnet = settings.tailnet, let pair = try? read(tailnet) { try? add(pair, .tailnet) }
        return (identities, contents, shown)
    }

    private static func clients(_ settings: TLSSettings) throws(Fault) -> ClientCertificates {
        let allowed = settings.allowedClients
        guard let path = settings.authorities else { return allowed.isEmpty ? .none : .required(allowed: allowed) }
        return .issued(by: try read(path, as: .tlsClientCA), allowed: allowed)
    }

    private static func read(_ path: String, as key: ConfigurationKey) throws(Fault) -> [UInt8] {
        do throws(TextFile.Fault) {
            return try TextFile.read(path)
        } catch {
            throw Fault(message: "\(key.name): \(error.message)")
        }
    }

    private static func read(_ files: TLSSettings.Pair) throws(Fault) -> Pair {
        let chain = try read(files.certificate, as: .tlsCert)
        do throws(SecretFile.Fault) {
            return Pair(chain: chain, key: try SecretFile.read(files.key))
        } catch {
            throw Fault(message: "tls.key: \(error.description)" + (error.hint.map { "; run: \($0)" } ?? ""))
        }
    }

    /// Key and chain in one file of the state directory; nil if there is none.
    private static func read(_ file: PrivateFile) throws(Fault) -> Pair? {
        do throws(SystemError) {
            guard let pem = try file.read() else { return nil }
            return Pair(chain: pem, key: Secret(String(decoding: pem, as: UTF8.self)))
        } catch {
            throw Fault(message: "\(error)")
        }
    }
}

extension ShownCertificate {
    init(_ info: CertificateInfo, _ source: Source) {
        self.init(
            source: source,
            names: info.names.compactMap { name in
                if case .dns(let text) = name, !text.hasPrefix("*") { text } else { nil }
            },
            sha256: info.sha256,
            isSelfSigned: info.isSelfSigned,
            period: CertificatePeriod(notBefore: info.notBefore, notAfter: info.notAfter)
        )
    }
}
