import Basics
import POSIX
import TLS

/// The certificate that Ladle makes for itself. It is made once, because devices pin it.
enum OwnCertificate {
    /// The longest time that Apple's clients accept.
    private static let days = 825

    /// The certificate has the host's own names but none of the tailnet: a client that asks for a tailnet name gets the certificate
    /// of tailscaled.
    static func makeIfMissing(_ file: PrivateFile) throws(ListenerTLS.Fault) {
        guard !FileSystem.mayExist(file.path) else { return }
        let label = HostName.current.split(separator: ".").first.map(String.init) ?? ""
        let names = [label, label + ".local", "localhost"].filter { CertificateName($0) != nil && $0.first != "." }
        do {
            let made = try SelfSignedCertificate.make(names: names, validDays: days)
            try file.create(made.keyPEM + made.certificatePEM)
        } catch {
            throw ListenerTLS.Fault(message: "no certificate could be made in \(file.path): \(error)")
        }
    }
}
