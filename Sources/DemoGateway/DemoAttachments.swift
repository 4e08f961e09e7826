import Basics
import JSONBytes

/// The attachments of a message as blocks of its transcript row.
enum DemoAttachments {
    /// March takes images up to this size and silently drops all other files.
    private static let marchImageLimit = 5_000_000
    private static let imageLimit = 6_291_456
    private static let fileLimit = 20_971_520

    static func blocks(_ value: JSONValue?, _ release: DemoRelease) throws(DemoError) -> [TranscriptRow.Block] {
        guard let value else { return [] }
        var blocks: [TranscriptRow.Block] = []
        for (place, item) in value.elements.enumerated() {
            let name = item["fileName"]?.string ?? item["type"]?.string ?? "attachment-\(place + 1)"
            guard var text = item["content"]?.string ?? item["source"]?["data"]?.string else {
                if release == .march { continue }
                throw .invalid("Error: attachment \(name): content must be base64 string")
            }
            if text.hasPrefix("data:"), let comma = text.firstIndex(of: ",") {
                text = String(text[text.index(after: comma)...])
            }
            guard let bytes = Base64.decode(text, as: .standard), !bytes.isEmpty else {
                throw .invalid("Error: attachment \(name): invalid base64 content")
            }
            let image = imageType(bytes)
            let limit = image == nil ? fileLimit : release == .march ? marchImageLimit : imageLimit
            if bytes.count > limit, image != nil || release != .march {
                throw .invalid("Error: attachment \(name): exceeds size limit (\(bytes.count) > \(limit) bytes)")
            }
            if let image {
                blocks.append(.image(mimeType: image, bytes: bytes.count))
            } else if release >= .june {
                blocks.append(.text("[file: \(name), \(bytes.count) bytes]"))
            }
        }
        return blocks
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
