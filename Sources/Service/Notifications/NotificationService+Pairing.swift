package import Access
package import EventLoops
import Notifications

extension NotificationService {
    /// A device asks for a token. Its name is its own word, so the address stands beside it.
    package func pairingRequested(_ request: PairingRequest, on loop: isolated EventLoop) {
        var occasion = Occasion(
            .pairingRequested,
            source: "pairing/\(request.code)",
            at: loop.wallClock,
            text: "\(request.name) from \(request.from) asks for \(request.scopes.names.joined(separator: ", ")). "
                + "To let it in: ladle clients approve \(request.code)"
        )
        occasion.expiresAt = request.expiresAt
        tell(occasion, on: loop)
    }
}
