package import Gateway

/// The gateway's size limits for attachments, in bytes.
package struct AttachmentLimits: Sendable {
    package let picture: Int
    /// The limit for files; nil if the gateway takes only pictures.
    package let file: Int?

    /// Protocol 3 takes pictures of up to 5 MB, which is also safe before the first connection.
    package init(_ hello: Hello?) {
        guard let hello, hello.protocolVersion >= 4 else {
            picture = 5_000_000
            file = nil
            return
        }
        picture = hello.policy.imageBytes ?? 6 << 20
        file = hello.policy.attachmentBytes ?? 20 << 20
    }
}
