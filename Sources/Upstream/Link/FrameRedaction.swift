package import JSONBytes

/// Makes a frame showable: secrets by name and by value are replaced, file contents become their size, long texts are cut.
package struct FrameRedaction: Sendable {
    /// Longer strings say nothing more in a log of traffic.
    private static let longestString = 1_024
    private static let longestFrame = 16_384
    static let mark = "[redacted]"

    /// Secrets in use; a text that holds one is replaced whatever its name.
    private let secrets: [String]

    package init(secrets: [String] = []) {
        // Very short ones would blot out ordinary words.
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
                write(member, name: key, inFile: inFile || Self.holdsFiles(key), to: &writer)
            }
            writer.endObject()
        case .array:
            writer.beginArray()
            for element in value.elements where writer.bytes.count <= Self.longestFrame {
                write(element, name: name, inFile: inFile, to: &writer)
            }
            writer.endArray()
        case .string:
            // Only a number may be a count of tokens.
            if Self.isSecret(name) || name.lowercased().hasSuffix("tokens") {
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
        // A secret may stand anywhere in the text, also behind the cut, but nothing behind the cut is shown.
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

    /// Ways in which secrets stand inside longer texts.
    private static let inText = ["token=", "password=", "secret=", "bearer ", "private key-----"]

    private static let secretNames: Set<String> = ["auth", "authorization", "cookie", "setupcode", "nonce", "pin"]
    private static let secretParts = [
        "token", "password", "passwd", "secret", "signature", "apikey", "privatekey", "publickey", "credential",
    ]

    /// By the name's letters alone, so that `deviceToken`, `device_token` and `X-Device-Token` are one. Counts of model
    /// tokens (`totalTokens`) are no secret.
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

    /// Names that always carry bulk, and may carry anything.
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
