/// Why tailscaled gives no certificate now, and what helps.
package enum CertificateObstacle: Error, Sendable, Equatable {
    case noTailscaled
    /// The state that tailscaled names, such as `NeedsLogin`.
    case notConnected(String)
    case httpsOff
    /// The uid of this process may not have it.
    case denied(uid: UInt32)
    /// The authority has issued too many; tailscaled's words.
    case limited(String)
    /// No certificate could be issued; tailscaled's words.
    case failed(String)
    case noAnswer(String)
    /// An answer that is no certificate for this host.
    case unusable(String)
    case notKept(String)

    /// Nobody but this host is asked where the question ends here, so that it may be asked often.
    var isFoundAtHome: Bool {
        switch self {
        case .noTailscaled, .notConnected, .httpsOff, .denied: true
        case .limited, .failed, .noAnswer, .unusable, .notKept: false
        }
    }

    package var detail: String {
        switch self {
        case .noTailscaled: Self.noSocket
        case .notConnected(let state): "this host is not connected to its tailnet (\(state))"
        case .httpsOff: "HTTPS certificates are not enabled in this tailnet"
        case .denied(let uid): "tailscaled lets root alone have its certificates, and not uid \(uid)"
        case .limited(let words): "the authority issues no more for now: \(words)"
        case .failed(let words): "tailscaled could have none issued: \(words)"
        case .noAnswer(let reason): "tailscaled gave no answer: \(reason)"
        case .unusable(let reason): "the certificate of tailscaled is not used: \(reason)"
        case .notKept(let reason): "the certificate of tailscaled could not be saved: \(reason)"
        }
    }

    /// The command that helps.
    package var hint: String {
        switch self {
        case .noTailscaled: Self.startTailscaled
        case .notConnected: "sudo tailscale up"
        case .httpsOff: "open https://login.tailscale.com/admin/dns   (HTTPS Certificates: Enable)"
        case .denied(let uid): Self.permit(uid)
        case .limited, .failed: Self.lookIntoLog
        case .noAnswer, .unusable: "tailscale status"
        case .notKept: "df -h; mount"
        }
    }

    #if os(macOS)
    private static let noSocket =
        "no socket of tailscaled was found; the Tailscale app has none, the open-source tailscaled has"
    private static let startTailscaled =
        "ladle serve --tls-cert FILE --tls-key FILE   (the files that the app writes with: tailscale cert NAME)"
    private static let lookIntoLog = "sudo tailscale cert   (it says which name to ask for)"
    private static func permit(_ uid: UInt32) -> String { "sudo tailscale set --operator=\"$(id -un \(uid))\"" }
    #else
    private static let noSocket = "no socket of tailscaled was found"
    private static let startTailscaled = "sudo systemctl enable --now tailscaled"
    private static let lookIntoLog = "sudo journalctl -u tailscaled -g cert -n 20"
    /// The narrowest right: `tailscale set --operator` would let the user change the tailnet's settings too.
    private static func permit(_ uid: UInt32) -> String {
        "echo TS_PERMIT_CERT_UID=\(uid) | sudo tee -a /etc/default/tailscaled && sudo systemctl restart tailscaled"
    }
    #endif
}
