import Basics
import Gateway
package import JSONBytes
import Labels

/// A file sent with a message: its name and size, never its content.
package struct MessageAttachment: Sendable, Equatable {
    package var name: String?
    package var mimeType: String?
    package var bytes: Int64?

    package init(name: String?, mimeType: String?, bytes: Int64?) {
        self.name = name
        self.mimeType = mimeType
        self.bytes = bytes
    }

    init(_ attachment: HistoryAttachment) {
        mimeType = attachment.mimeType.map { Self.shown($0) }
        name = attachment.name.map { Self.shown($0) } ?? Self.name(ofType: mimeType)
        bytes = attachment.bytes
    }

    /// A file that the gateway stored under a name of its own.
    init(path: String, type: String?) {
        mimeType = type.map { Self.shown($0) }
        name = Self.original(ofPath: path) ?? Self.name(ofType: mimeType, ending: Self.ending(ofPath: path))
    }

    private static func shown(_ text: String) -> String {
        LabelText.collapsed(text.split(separator: "/").count > 2 ? text.split(separator: "/").last ?? "" : text[...])
            .cut(to: 200)
    }

    // MARK: Names

    /// The sender's name for the file, from a stored name such as `list---ID.txt`. Nil if the name is only an id or may be a secret.
    private static func original(ofPath path: String) -> String? {
        guard let file = path.split(separator: "/").last else { return nil }
        let ending = ending(ofPath: path).map { "." + $0 } ?? ""
        var stem = file.dropLast(ending.count)
        if let mark = stem.rangeOfText("---"), isID(stem[mark.upperBound...]) { stem = stem[..<mark.lowerBound] }
        guard !stem.isEmpty, !isID(stem), let name = LabelText.name(ofPath: stem + ending), !name.contains("•") else {
            return nil
        }
        return name
    }

    private static func isID(_ text: Substring) -> Bool {
        text.utf8.count == 36
            && text.utf8.allSatisfy {
                $0 == UInt8(ascii: "-") || $0.isASCIIDigit || ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x66)
            }
    }

    private static func ending(ofPath path: String) -> String? {
        guard let file = path.split(separator: "/").last, let dot = file.lastIndex(of: ".") else { return nil }
        return ending(String(file[file.index(after: dot)...]))
    }

    private static func ending(_ text: String) -> String? {
        let isWord = text.utf8.allSatisfy { $0.isASCIIDigit || $0.isASCIILetter }
        return isWord && (1...8).contains(text.utf8.count) ? text.lowercased() : nil
    }

    private static let endings = ["jpeg": "jpg", "plain": "txt", "mpeg": "mp3", "svg": "svg"]

    /// A name made from the type, such as `image.png`.
    private static func name(ofType type: String?, ending: String? = nil) -> String? {
        let parts = type?.lowercased().split(separator: "/") ?? []
        guard parts.count == 2 || ending != nil else { return nil }
        let kind = parts.first.map(String.init) ?? ""
        let stem = ["image", "audio", "video"].contains(kind) ? kind : "file"
        let subtype = parts.last.map { String($0.prefix { $0 != "+" && $0 != ";" }) } ?? ""
        let suffix = ending ?? Self.endings[subtype] ?? Self.ending(subtype)
        return suffix.map { "\(stem).\($0)" } ?? stem
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
