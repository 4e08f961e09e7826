package import JSONBytes

/// Makes a frame safe to show: replaces secrets found by name or by value, turns file contents into their size, and
/// cuts long texts.
package struct FrameRedaction: Sendable {
    /// A longer string adds nothing useful to a traffic log.
    private static let longestString = 1_024
    private static let longestFrame = 16_384
    static let mark = "[redacted]"

    /// Secrets in use. A string that contains one is replaced under any name.
    private let secrets: [String]

    package init(secrets: [String] = []) {
        // Very short secrets would hide ordinary words.
        self.secrets = secrets.filter { $0.utf8.count >= 6 }
    }

    package func text(_ frame: JSONValue) -> [UInt8] {
        var writer = JSONWriter(capacity: min(frame.raw.count, Self.longestFrame) + 64)
        write(frame, name: "", inFile: false, to: &writer)
        guard writer.bytes.count > Self.longestFrame else { return writer.bytes }
        return Self.summary(of: writer.bytes.count, frame)
    }

    private func write(_ value: JSONValue, name: String, inFile: Bool, to writer: inout JSONWriter) {
        switch value.kind {
        case .object:
            writer.beginObject()
            for (key, member) in value.members where writer.bytes.count <= Self.longestFrame {
                writer.key(shown(key))
                // A member of an answer to a question, which may be a secret.
                let inner = key == "answers" || name == "answers" ? "answers" : key
                write(member, name: inner, inFile: inFile || Self.holdsFiles(key), to: &writer)
            }
            writer.endObject()
        case .array:
            writer.beginArray()
            for element in value.elements where writer.bytes.count <= Self.longestFrame {
                write(element, name: name, inFile: inFile, to: &writer)
            }
            writer.endArray()
        case .string:
            // A token count is a number, so a string under a name that ends in "tokens" is redacted too.
            if Self.isSecret(name) || name == "answers" || name.lowercased().hasSuffix("tokens") {
                writer.string(Self.mark)
            } else if (inFile && Self.isFileContent(name)) || Self.isOpaque(name) {
                writer.string("[\(value.utf8?.count ?? 0) bytes]")
            } else {
                writer.string(shown(value))
            }
        case .number where Self.isSecret(name): writer.string(Self.mark)
        case .number, .bool, .null: writer.raw(value.raw)
        }
    }

    private func shown(_ value: JSONValue) -> String {
        // A secret may start before the cut and end after it, so the search goes past the cut; the output does not.
        let bytes = value.utf8 ?? []
        let cut = bytes.prefix(Self.longestString + 512)
        let text = shown(String(decoding: cut, as: UTF8.self))
        guard bytes.count > Self.longestString else { return text }
        return String(text.unicodeScalars.prefix(Self.longestString)) + "… [\(bytes.count) bytes]"
    }

    private func shown(_ text: String) -> String {
        for secret in secrets where text.contains(secret) { return Self.mark }
        if text.hasPrefix("data:") { return "[\(text.utf8.count) bytes]" }
        let lower = text.lowercased()
        return Self.inText.contains { lower.contains($0) } ? Self.mark : text
    }

    /// Words that precede a secret inside a longer text.
    private static let inText = ["token=", "password=", "secret=", "bearer ", "private key-----"]

    private static let secretNames: Set<String> = ["auth", "authorization", "cookie", "setupcode", "nonce", "pin"]
    private static let secretParts = [
        "token", "password", "passwd", "secret", "signature", "apikey", "privatekey", "publickey", "credential",
    ]

    /// Compares letters and digits only, so that `deviceToken`, `device_token` and `X-Device-Token` match. Counts of
    /// model tokens (`totalTokens`) are not secrets.
    static func isSecret(_ name: String) -> Bool {
        let letters = name.lowercased().filter { $0.isLetter || $0.isNumber }
        if letters.hasSuffix("tokens") { return false }
        return secretNames.contains(letters) || secretParts.contains { letters.contains($0) }
    }

    private static func holdsFiles(_ name: String) -> Bool {
        ["attachments", "source", "image", "images", "file", "media", "audio"].contains(name.lowercased())
    }

    private static func isFileContent(_ name: String) -> Bool {
        ["content", "data", "base64", "bytes", "url"].contains(name.lowercased())
    }

    /// Names whose values are bulk data that may contain secrets.
    private static func isOpaque(_ name: String) -> Bool {
        ["data", "base64", "payloadjson", "paramsjson"].contains(name.lowercased())
    }

    private static func summary(of size: Int, _ frame: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for name in ["type", "id", "method", "event"] {
                writer.member(name, frame[name]?.string.map { String($0.prefix(128)) })
            }
            writer.member("omitted", "a frame of \(frame.raw.count) bytes")
        }
        return writer.bytes
    }
}
