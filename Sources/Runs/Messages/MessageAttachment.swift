import Basics
import Gateway
package import JSONBytes
import Labels

/// A file sent with a message: its name and size, never its content.
package struct MessageAttachment: Sendable, Equatable {
    package var name: String?
    package var mimeType: String?
    package var bytes: Int64?

    init(_ attachment: HistoryAttachment) {
        name = attachment.name.map { Self.shown($0) }
        mimeType = attachment.mimeType.map { Self.shown($0) }
        bytes = attachment.bytes
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
