import API
import Access
import Basics
import Commands
import Configuration
import EventLoops
import JSONBytes
import POSIX

/// Checks the certificates: which one each client gets, until when it is valid, and why there is none for the tailnet.
enum CertificateCheck {
    private static let check = "certificate"

    static func findings(_ tls: JSONValue?, isServing: Bool, own: String, now: Timestamp) -> [Finding] {
        guard let tls else { return [] }
        let certificates = tls["certificates"]?.elements.map(\.self) ?? []
        let tailnet = tls["tailnet"]
        let obstacle = tailnet?["detail"]?.string
        let help = tailnet?["hint"]?.string
        var findings: [Finding] = certificates.map { one in
            switch one["source"]?.string {
            case "tailnet":
                judged(
                    one,
                    text: "for clients that ask for \(names(one)): of tailscaled",
                    help ?? "tailscale status",
                    now
                )
            case "own":
                judged(one, text: "for clients that pin it: SHA-256 \(one["sha256"]?.string ?? "")", again(own), now)
            default:
                judged(
                    one,
                    text: "for \(names(one)): of tls.cert",
                    "openssl x509 -noout -enddate -in FILE   (of tls.cert)",
                    now
                )
            }
        }
        let isKept = certificates.contains { $0["source"]?.string == "tailnet" }
        switch tailnet?["state"]?.string {
        case "waiting" where !isKept:
            let text =
                isServing
                ? "tailscaled is asked for it, which takes a minute or more" : "ladle serve asks tailscaled for it"
            findings.append(.fine(check, "none of the tailnet yet: \(text)"))
        case "missing":
            let text = obstacle ?? ""
            findings.append(
                isKept
                    ? .fine(check, "the tailnet's is not renewed now: \(text)")
                    : .wrong(check, "none of the tailnet: \(text)", help)
            )
        default: break
        }
        return findings
    }

    /// Certificates are usually renewed long before the last tenth of their life, so one that is not is reported.
    private static func judged(_ one: JSONValue, text: String, _ hint: String, _ now: Timestamp) -> Finding {
        guard let from = one["notBefore"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let end = one["notAfter"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return .fine(check, text) }
        let left = end.milliseconds - now.milliseconds
        if left <= 0 { return .wrong(check, "\(text), expired at \(end.rfc3339)", hint) }
        let line = "\(text), until \(end.rfc3339)"
        return left < (end.milliseconds - from.milliseconds) / 10
            ? .wrong(check, "\(line): soon", hint) : .fine(check, line)
    }

    private static func names(_ one: JSONValue) -> String {
        one["names"]?.elements.compactMap(\.string).joined(separator: ", ") ?? ""
    }

    private static func again(_ own: String) -> String {
        "rm \(own)   (then start ladle serve again, and pair the devices anew)"
    }

    // MARK: Without a server

    /// Reads the files, and asks tailscaled only for its state: if it were asked for the certificate, it might issue one.
    static func ownLook(_ settings: Settings, _ places: SettingsPlaces, data: String, now: Timestamp) async -> [Finding]
    {
        let tls: TLSSettings
        let report: CertificateReport
        do throws(StartFailure) {
            guard let found = try TLSSettings.read(settings, places, data: data) else { return [] }
            tls = found
            report = CertificateReport(certificates: try ListenerTLS.look(tls), tailnet: await outcome(tls, settings))
        } catch {
            return [.wrong(check, error.message, "ladle config show", error.status)]
        }
        var writer = JSONWriter()
        report.write(to: &writer)
        let json = try? JSONDocument(parsing: writer.bytes).root
        var findings = findings(json, isServing: false, own: tls.own?.path ?? "", now: now)
        if let own = tls.own, !FileSystem.mayExist(own.path) {
            findings.append(.fine(check, "one for clients that pin it is made at the first start, in \(own.path)"))
        }
        return findings
    }

    private static func outcome(_ tls: TLSSettings, _ settings: Settings) async -> CertificateReport.Tailnet {
        guard tls.tailnet != nil else { return .unwanted }
        guard let found = Tailscaled.find(ServeConfiguration.tailscaledPaths(settings)) else {
            return .missing(.noTailscaled)
        }
        guard let loop = try? EventLoop(label: "ladle.doctor") else { return .waiting }
        loop.start()
        let answer = await loop.status(of: found.path)
        await loop.stop()
        do throws(CertificateObstacle) {
            _ = try TailnetCertificate.name(in: answer)
            return .waiting
        } catch {
            return .missing(error)
        }
    }
}

extension EventLoop {
    fileprivate func status(of tailscaled: String) async -> TailscaledExchange.Answer {
        await withCheckedContinuation { done in
            TailscaledClient.call(tailscaled, TailnetNames.request, on: self) { done.resume(returning: $0) }
        }
    }
}
