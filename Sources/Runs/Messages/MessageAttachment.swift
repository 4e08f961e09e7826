import Basics
package import JSONBytes
import Labels

/// What is known about a file sent with a message; never its content.
package struct MessageAttachment: Sendable, Equatable {
    package var name: String?
    package var mimeType: String?
    package var bytes: Int64?

    init?(block: JSONValue) {
        let source = block["source"]
        name = (block["fileName"] ?? block["name"] ?? block["filename"])?.string.map { Self.shown($0) }
        mimeType = (block["mimeType"] ?? block["media_type"] ?? source?["media_type"] ?? block["mediaType"])?.string.map
        { Self.shown($0) }
        bytes = (block["bytes"] ?? block["size"])?.int.map { max($0, 0) }
        if mimeType == nil, let type = block["type"]?.string { mimeType = type.contains("image") ? "image/*" : nil }
    }

    init(path: String, type: String?) {
        name = LabelText.name(ofPath: path)
        mimeType = type.map { Self.shown($0) }
    }

    private static func shown(_ text: String) -> String {
        LabelText.collapsed(text.split(separator: "/").count > 2 ? text.split(separator: "/").last ?? "" : text[...])
            .cut(to: 200)
    }
}

extension MessageAttachment: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", name)
            writer.member("mimeType", mimeType)
            writer.member("bytes", bytes)
        }
    }
}
