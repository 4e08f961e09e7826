import Basics
import HTTPModel
import JSONBytes
import Server
import Service

/// The attachments that the gateway accepts. It drops or refuses others, so these rules refuse them before the message
/// is accepted.
struct AttachmentRules: Sendable {
    static let fields = ["name", "mimeType", "data"]
    /// The most attachments of one message.
    static let most = 32

    private let limits: AttachmentLimits

    init(_ limits: AttachmentLimits) {
        self.limits = limits
    }

    /// The attachments as they are stored; nil for an empty list.
    func check(_ list: JSONValue) throws(Problem) -> [UInt8]? {
        guard list.kind == .array else {
            throw .invalidField("attachments", "`attachments` is a list of {name, mimeType, data}.")
        }
        guard list.count > 0 else { return nil }
        guard list.count <= Self.most else {
            throw .invalidField("attachments", "A message takes at most \(Self.most) attachments.")
        }
        var writer = JSONWriter(capacity: list.raw.count)
        writer.beginArray()
        var place = 0
        for item in list.elements {
            try check(item, at: place)
            writer.object { object in
                object.member("name", item["name"]?.string)
                object.member("mimeType", item["mimeType"]?.string?.lowercased())
                object.member("data", raw: item["data"]?.raw)
            }
            place += 1
        }
        writer.endArray()
        return writer.bytes
    }

    private func check(_ item: JSONValue, at place: Int) throws(Problem) {
        let path = "attachments[\(place)]"
        guard item.kind == .object else { throw .invalidField(path, "An attachment is {name, mimeType, data}.") }
        if let name = item["name"], !name.isNull {
            guard let text = name.string, text.utf8.count <= 255, !text.utf8.contains(where: { $0 < 0x20 }) else {
                throw .invalidField("\(path).name", "`name` is a file name of at most 255 bytes.")
            }
        }
        guard let type = item["mimeType"]?.string?.lowercased(), Self.isType(type) else {
            throw .invalidField("\(path).mimeType", "`mimeType` is a media type such as image/png.")
        }
        guard let data = item["data"]?.utf8, !data.isEmpty else {
            throw .invalidField("\(path).data", "`data` is the content in base 64.")
        }
        let isPicture = type.hasPrefix("image/")
        guard isPicture || limits.file != nil else {
            throw .invalidField(
                "\(path).mimeType",
                "Only pictures can be sent: the gateway speaks protocol 3 or was not reached yet."
            )
        }
        let limit = isPicture ? limits.picture : limits.file ?? 0
        // Four characters hold three bytes; a text that is too long by that measure is not decoded.
        guard data.count / 4 * 3 <= limit + 3 else { throw tooLarge(path, data, limit) }
        guard let count = Base64.decodedCount(data.span) else {
            throw .invalidField("\(path).data", "`data` is not base 64.")
        }
        guard count <= limit else { throw tooLarge(path, data, limit) }
        guard !Self.known.contains(type) || Self.isPicture(Base64.decode(data.prefix(Self.signatureCharacters)) ?? [])
        else {
            throw .invalidField("\(path).data", "`data` is no picture of the type \(type).")
        }
    }

    private func tooLarge(_ path: String, _ data: ArraySlice<UInt8>, _ limit: Int) -> Problem {
        Problem(
            .attachmentTooLarge,
            "The attachment has about \(data.count / 4 * 3) bytes; the gateway takes \(limit).",
            field: "\(path).data"
        )
    }

    /// A multiple of four characters, and more than the 12 bytes that identify a WebP.
    private static let signatureCharacters = 20
    private static let known: Set<String> = ["image/png", "image/jpeg", "image/gif", "image/webp"]

    /// Checks the first bytes. The gateway does so too, and silently drops other content.
    private static func isPicture(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) || bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return true }
        if bytes.starts(with: Array("GIF8".utf8)) { return true }
        return bytes.count > 12 && bytes.starts(with: Array("RIFF".utf8)) && bytes[8..<12].elementsEqual("WEBP".utf8)
    }

    private static func isType(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && text.utf8.count <= 127
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.utf8.allSatisfy { byte in
                        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
                    }
            }
    }
}
