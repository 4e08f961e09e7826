package import Basics
import HTTPModel
import JSONBytes
import POSIX
package import TLS

/// The questions and answers with which tailscaled gives its certificate for this host's name in the tailnet.
package enum TailnetCertificate {
    /// The first time an authority issues it, and looks into DNS before that: a minute or more. tailscaled gives up when its client
    /// does, so the deadline is generous.
    package static let deadlineMilliseconds: Int64 = 300_000
    /// A key and a chain have about 6,000 bytes.
    private static let longest = 64 << 10
    /// Of an error's text.
    private static let longestWords = 300

    /// - Parameter name: out of `name(in:)`.
    package static func request(for name: String) -> [UInt8] {
        TailscaledExchange.request("cert/\(name)?type=pair")
    }

    /// The name for which tailscaled can have a certificate, out of its answer to `TailnetNames.request`.
    package static func name(in answer: TailscaledExchange.Answer) throws(CertificateObstacle) -> String {
        let body = try body(of: answer)
        guard let root = try? JSONDocument(parsing: body, limits: .gateway).root, root.kind == .object else {
            throw .noAnswer("its status is not JSON")
        }
        if let state = root["BackendState"]?.string, state != "Running" { throw .notConnected(words(state)) }
        guard let name = TailnetNames.name(root) else { throw .notConnected("it has no name there") }
        let domains = root["CertDomains"]?.elements.compactMap(\.string) ?? []
        guard domains.contains(where: { $0.lowercased() == name }) else { throw .httpsOff }
        return name
    }

    /// The certificate out of the answer to `request(for:)`, if it is one for that name, with its key, and in force.
    package static func identity(
        in answer: TailscaledExchange.Answer,
        for name: String,
        now: Timestamp
    ) throws(CertificateObstacle) -> TLSIdentity {
        let body = try body(of: answer)
        guard body.count <= longest else { throw .unusable("it is too long") }
        let identity: TLSIdentity
        do throws(TLSError) {
            identity = try TLSIdentity(pem: body)
        } catch {
            throw .unusable("\(error)")
        }
        let info = identity.info
        guard info.names.contains(where: { $0.matches(name) }) else {
            throw .unusable(
                "it is for \(words(info.names.map(\.description).joined(separator: ", "))), not for \(name)"
            )
        }
        guard !info.isSelfSigned else { throw .unusable("no authority has signed it") }
        guard info.notBefore <= now else { throw .unusable("it begins at \(info.notBefore.rfc3339)") }
        guard now < info.notAfter else { throw .unusable("it expired at \(info.notAfter.rfc3339)") }
        return identity
    }

    /// The status codes are those of tailscaled's `localapi`: 403 before anybody is asked, 429 as the authority said it, else 500.
    private static func body(of answer: TailscaledExchange.Answer) throws(CertificateObstacle) -> [UInt8] {
        switch answer {
        case .complete(.ok, let body): return body
        case .complete(.forbidden, _): throw .denied(uid: CurrentProcess.effectiveUser)
        case .complete(.tooManyRequests, let body): throw .limited(words(body))
        case .complete(let status, let body): throw .failed(body.isEmpty ? "status \(status.code)" : words(body))
        case .failed(let reason): throw .noAnswer(reason)
        }
    }

    private static func words(_ body: [UInt8]) -> String {
        words(String(decoding: body.prefix(longestWords), as: UTF8.self))
    }

    /// One line: it goes to logs and terminals.
    private static func words(_ text: String) -> String {
        let line = Printable.escaped(Printable.line(text), limit: longestWords).text
        return line.split(separator: " ").joined(separator: " ")
    }
}
