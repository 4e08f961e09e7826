import Basics
import JSONBytes

/// The facts kept about a file after its content was sent.
package struct AttachedFile: Sendable, Equatable {
    package var name: String?
    package var mimeType: String?
    package var bytes: Int64?

    package init(name: String?, mimeType: String?, bytes: Int64?) {
        self.name = name
        self.mimeType = mimeType
        self.bytes = bytes
    }

    /// The attachments of a command's payload.
    static func list(payload: [UInt8]?) -> [AttachedFile] {
        guard let payload, let list = (try? JSONDocument(parsing: payload))?.root["attachments"] else { return [] }
        return list.elements.map { item in
            let count = item["data"]?.utf8.flatMap { Base64.decodedCount($0.span) }
            return AttachedFile(
                name: item["name"]?.string,
                mimeType: item["mimeType"]?.string,
                bytes: count.map { Int64($0) }
            )
        }
    }

    static func list(stored: [UInt8]?) -> [AttachedFile] {
        guard let stored, let list = (try? JSONDocument(parsing: stored))?.root else { return [] }
        return list.elements.map { item in
            AttachedFile(name: item["name"]?.string, mimeType: item["mimeType"]?.string, bytes: item["bytes"]?.int)
        }
    }

    /// The files as JSON; nil for none.
    static func stored(_ files: [AttachedFile]) -> [UInt8]? {
        guard !files.isEmpty else { return nil }
        var writer = JSONWriter()
        writer.array { list in
            for file in files {
                list.object { object in
                    object.member("name", file.name)
                    object.member("mimeType", file.mimeType)
                    object.member("bytes", file.bytes)
                }
            }
        }
        return writer.bytes
    }
}
