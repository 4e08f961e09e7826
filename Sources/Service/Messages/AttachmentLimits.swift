package import Gateway
package import Ledger

/// The gateway's size limits for attachments, in bytes.
package struct AttachmentLimits: Sendable {
    package let picture: Int
    /// The limit for files; nil if the gateway takes only pictures.
    package let file: Int?

    /// Pictures of up to 5 MB are taken by every release, and so are safe before the first connection.
    package init(_ hello: Hello?, _ profile: GatewayProfile?) {
        guard let hello, profile?.takesFiles == true else {
            picture = 5_000_000
            file = nil
            return
        }
        picture = hello.policy.imageBytes ?? 6 << 20
        file = hello.policy.attachmentBytes ?? 20 << 20
    }
}
