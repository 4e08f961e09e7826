/// The secret part of a one-tap link: `lda_` and 256 random bits. Only its hash is stored.
package enum LinkSecret {
    package static let prefix = "lda_"
    private static let length = prefix.utf8.count + TokenText.randomLength

    package static func make() -> Secret { SecureCode.secret(prefix: prefix) }

    /// Whether the text has the form of a link secret.
    package static func isWellFormed(_ text: String) -> Bool {
        text.utf8.count == length && text.hasPrefix(prefix)
    }
}
