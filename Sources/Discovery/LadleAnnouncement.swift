import Basics

/// A Ladle on the network, as its DNS-SD records say it (RFC 6763). Everybody on the network reads them, so that they name no user, no
/// gateway and no session.
package struct LadleAnnouncement: Sendable, Equatable {
    /// The program that publishes the records, and withdraws them when it ends.
    package enum Publisher: Sendable, Equatable {
        /// Of Avahi.
        case avahi(path: String)
        /// Of macOS.
        case dnssd(path: String)
    }

    /// RFC 6763 §4.1.1.
    private static let longestName = 63

    package let name: String
    package let port: UInt16
    package let hints: [String]

    /// - Parameters:
    ///   - host: of this machine.
    ///   - fingerprint: SHA-256 of a certificate for which no authority vouches.
    ///   - id: tells this Ladle from others, and says nothing else.
    package init(host: String, port: UInt16, isEncrypted: Bool, fingerprint: [UInt8]?, id: String, version: String) {
        name = Self.label(host)
        self.port = port
        var hints = ["txtvers=1", "api=v1", "path=/v1", "tls=\(isEncrypted ? 1 : 0)"]
        if let fingerprint { hints.append("fp=\(Base64.encode(fingerprint, as: .url))") }
        hints += ["auth=pair,token", "id=\(id)"]
        // A patch level would tell which faults it has.
        hints.append("ver=\(version.split(separator: ".").prefix(2).joined(separator: "."))")
        self.hints = hints
    }

    /// The first label of a host name, in what one label may have.
    private static func label(_ host: String) -> String {
        var label = ""
        for scalar in host.unicodeScalars.prefix(longestName) {
            guard scalar != ".", scalar.value >= 0x20, scalar.value != 0x7F else { break }
            guard label.utf8.count + String(scalar).utf8.count <= longestName else { break }
            label.unicodeScalars.append(scalar)
        }
        return label.isEmpty ? "ladle" : label
    }

    /// The words of the program, which runs until it is ended.
    package func arguments(of publisher: Publisher) -> [String] {
        let type = AnnouncedService.ladle.rawValue
        return switch publisher {
        case .avahi(let path): [path, "--", name, type, "\(port)"] + hints
        case .dnssd(let path): [path, "-R", name, type, "local", "\(port)"] + hints
        }
    }
}

/// How long to wait before a publisher that ended is started again.
package struct AnnouncementPauses: Sendable {
    private static let firstMilliseconds: Int64 = 1000
    private static let longestMilliseconds: Int64 = 300_000
    /// A publisher that ran this long worked, so that its end is a new fault.
    private static let steadyMilliseconds: Int64 = 60_000

    private var next = Self.firstMilliseconds

    package init() {}

    package mutating func pause(afterRunning milliseconds: Int64) -> Int64 {
        if milliseconds >= Self.steadyMilliseconds { next = Self.firstMilliseconds }
        defer { next = min(next * 2, Self.longestMilliseconds) }
        return next
    }
}
