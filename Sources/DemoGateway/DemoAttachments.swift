import Basics
import JSONBytes

/// The attachments of a message: blocks of its transcript row, or files beside it.
struct DemoAttachments {
    private(set) var blocks: [DemoRow.Block] = []
    private(set) var media: [DemoRow.Media] = []

    /// March takes images up to this size and silently drops all other files.
    private static let marchImageLimit = 5_000_000
    private static let imageLimit = 6_291_456
    private static let fileLimit = 20_971_520

    init(_ value: JSONValue?, _ host: DemoHost) throws(DemoError) {
        guard let value else { return }
        for (place, item) in value.elements.enumerated() { try add(item, place, host) }
    }

    var isEmpty: Bool { blocks.isEmpty && media.isEmpty }

    private mutating func add(_ item: JSONValue, _ place: Int, _ host: DemoHost) throws(DemoError) {
        let release = host.release
        let name = item["fileName"]?.string ?? item["type"]?.string ?? "attachment-\(place + 1)"
        guard var text = item["content"]?.string ?? item["source"]?["data"]?.string else {
            if release == .march { return }
            throw .invalid("Error: attachment \(name): content must be base64 string")
        }
        if text.hasPrefix("data:"), let comma = text.firstIndex(of: ",") {
            text = String(text[text.index(after: comma)...])
        }
        guard let bytes = Base64.decode(text, as: .standard), !bytes.isEmpty else {
            throw .invalid("Error: attachment \(name): invalid base64 content")
        }
        let image = Self.imageType(bytes)
        let limit = image == nil ? Self.fileLimit : release == .march ? Self.marchImageLimit : Self.imageLimit
        if bytes.count > limit, image != nil || release != .march {
            throw .invalid("Error: attachment \(name): exceeds size limit (\(bytes.count) > \(limit) bytes)")
        }
        if host.shape.storesMedia {
            let type = image ?? item["mimeType"]?.string ?? "application/octet-stream"
            media.append(.init(path: Self.path(image == nil ? name : nil, type, host), mimeType: type))
        } else if let image {
            blocks.append(.image(mimeType: image, bytes: bytes.count))
        } else if release >= .june {
            blocks.append(.text("[file: \(name), \(bytes.count) bytes]"))
        }
    }

    /// An image loses its name; a file keeps its name before the id.
    private static func path(_ name: String?, _ type: String, _ host: DemoHost) -> String {
        let folder = "/home/demo/.openclaw/media/inbound/"
        let id = host.primitives.uuid()
        let parts = name?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard let stem = parts.first else {
            return "\(folder)\(id).\(type == "image/jpeg" ? "jpg" : String(type.dropFirst("image/".count)))"
        }
        return "\(folder)\(stem)---\(id)" + parts.dropFirst().suffix(1).map { ".\($0)" }.joined()
    }

    private static func imageType(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]) { return "image/png" }
        if bytes.starts(with: [0xff, 0xd8, 0xff]) { return "image/jpeg" }
        if bytes.starts(with: [0x47, 0x49, 0x46, 0x38]) { return "image/gif" }
        if bytes.count > 12, bytes.starts(with: [0x52, 0x49, 0x46, 0x46]), bytes[8..<12].elementsEqual("WEBP".utf8) {
            return "image/webp"
        }
        return nil
    }
}
