import Basics

/// The picture that the `avatar` field refers to. Nothing is fetched here: a URL is only reported.
package enum AvatarReference: Sendable, Equatable {
    case embedded(ImageHeader, bytes: [UInt8])
    case url(String)
    /// A file below the agent's workspace.
    case path(String)
    /// An emoji or initials.
    case text(String)
    case invalid(reason: String)

    package init(_ value: String) {
        let lower = value.prefix(8).lowercased()
        if lower.hasPrefix("data:") {
            self = Self.embedded(value)
        } else if lower.hasPrefix("http://") || lower.hasPrefix("https://") {
            self =
                value.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F })
                ? .invalid(reason: "a URL with blanks") : .url(value)
        } else if value.contains("://") {
            self = .invalid(reason: "a URL that is neither http nor https")
        } else if value.contains("/") || value.contains("\\") || value.contains(".") {
            self = Self.file(value)
        } else {
            self = value.isEmpty ? .invalid(reason: "empty") : .text(value)
        }
    }

    private static func file(_ value: String) -> AvatarReference {
        let parts = value.split(separator: "/", omittingEmptySubsequences: false)
        guard !value.hasPrefix("/"), !value.hasPrefix("~"), !value.contains("\\"), !parts.contains("..") else {
            return .invalid(reason: "a path that leaves the workspace")
        }
        return .path(value)
    }

    /// `data:image/png;base64,…` (RFC 2397) whose content has the stated type.
    private static func embedded(_ value: String) -> AvatarReference {
        let utf8 = Array(value.utf8)
        // Base64 takes four bytes for three, so a longer text is over the limit.
        guard utf8.count <= ImageHeader.maximumBytes / 3 * 4 + 256 else {
            return .invalid(reason: "a data URI over 2 MiB")
        }
        guard let comma = utf8.firstIndex(of: 0x2C), comma <= 256 else {
            return .invalid(reason: "a data URI without data")
        }
        let head = String(decoding: utf8[5..<comma], as: UTF8.self).lowercased().split(separator: ";")
        guard let type = head.first, head.last == "base64", head.count >= 2 else {
            return .invalid(reason: "a data URI that is not base64 of a picture")
        }
        guard let bytes = Base64.decode(Hex.percentDecoded(utf8[(comma + 1)...])) else {
            return .invalid(reason: "a data URI whose base64 is damaged")
        }
        do throws(ImageError) {
            let image = try ImageHeader(checking: bytes)
            guard image.mimeType == (type == "image/jpg" ? "image/jpeg" : String(type)) else {
                return .invalid(reason: "a data URI that says \(type) and holds \(image.mimeType)")
            }
            return .embedded(image, bytes: bytes)
        } catch {
            return .invalid(reason: "a data URI in which \(error.message)")
        }
    }
}
