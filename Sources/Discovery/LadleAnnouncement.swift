import Basics

/// A Ladle on the network, as its DNS-SD records describe it (RFC 6763). Everybody on the network can read them, so
/// they name no user, gateway or session.
package struct LadleAnnouncement: Sendable, Equatable {
    /// The program that publishes the records, and withdraws them when it ends.
    package enum Publisher: Sendable, Equatable {
        /// Avahi's program.
        case avahi(path: String)
        /// The program of macOS.
        case dnssd(path: String)
    }

    /// The limit of RFC 6763 §4.1.1.
    private static let longestName = 63

    package let name: String
    package let port: UInt16
    package let hints: [String]

    /// - Parameters:
    ///   - host: this machine's host name.
    ///   - fingerprint: the SHA-256 of a certificate that no authority signed.
    ///   - id: tells this Ladle from others, and reveals nothing else.
    package init(host: String, port: UInt16, isEncrypted: Bool, fingerprint: [UInt8]?, id: String, version: String) {
        name = Self.label(host)
        self.port = port
        var hints = ["txtvers=1", "api=v1", "path=/v1", "tls=\(isEncrypted ? 1 : 0)"]
        if let fingerprint { hints.append("fp=\(Base64.encode(fingerprint, as: .url))") }
        hints += ["auth=pair,token", "id=\(id)"]
        // A patch level would reveal which faults it has.
        hints.append("ver=\(version.split(separator: ".").prefix(2).joined(separator: "."))")
        self.hints = hints
    }

    /// The first label of a host name, limited to the characters and length of one label.
    private static func label(_ host: String) -> String {
        var label = ""
        for scalar in host.unicodeScalars.prefix(longestName) {
            guard scalar != ".", scalar.value >= 0x20, scalar.value != 0x7F else { break }
            guard label.utf8.count + String(scalar).utf8.count <= longestName else { break }
            label.unicodeScalars.append(scalar)
        }
        return label.isEmpty ? "ladle" : label
    }

    /// The arguments of the publishing program, which runs until it is ended.
    package func arguments(of publisher: Publisher) -> [String] {
        let type = AnnouncedService.ladle.rawValue
        return switch publisher {
        case .avahi(let path): [path, "--", name, type, "\(port)"] + hints
        case .dnssd(let path): [path, "-R", name, type, "local", "\(port)"] + hints
        }
    }
}

/// The waiting times before a publisher that ended is started again.
package struct AnnouncementPauses: Sendable {
    private static let firstMilliseconds: Int64 = 1000
    private static let longestMilliseconds: Int64 = 300_000
    /// A publisher that ran this long counts as working, so its end is a new fault.
    private static let steadyMilliseconds: Int64 = 60_000

    private var next = Self.firstMilliseconds

    package init() {}

    package mutating func pause(afterRunning milliseconds: Int64) -> Int64 {
        if milliseconds >= Self.steadyMilliseconds { next = Self.firstMilliseconds }
        defer { next = min(next * 2, Self.longestMilliseconds) }
        return next
    }
}
