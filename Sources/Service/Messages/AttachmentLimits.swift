package import Gateway

/// How large attachments the gateway takes, in bytes.
package struct AttachmentLimits: Sendable {
    package let picture: Int
    /// Nil: pictures only.
    package let file: Int?

    /// Protocol 3 takes pictures of up to 5 MB; so much is safe before the first connect, too.
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
