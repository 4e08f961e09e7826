package import Basics
package import JSONBytes

/// The API resource: `{agent, fields, markdown, path?, stale, asOf}`.
package struct DocumentView: Sendable, JSONWritable {
    /// How a write reached the gateway: by its file call or through the chat.
    package enum WritePath: String, Sendable {
        case rpc
        case chat
    }

    package let agent: String
    package let document: FieldDocument
    package let path: WritePath?
    package let stale: Bool
    package let asOf: Timestamp

    package init(agent: String, document: FieldDocument, path: WritePath? = nil, stale: Bool, asOf: Timestamp) {
        self.agent = agent
        self.document = document
        self.path = path
        self.stale = stale
        self.asOf = asOf
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("agent", agent)
            object.key("fields")
            Self.write(document.fields, of: document.kind, to: &object)
            object.key("markdown")
            object.string(utf8: document.bytes)
            object.member("path", path?.rawValue)
            object.member("stale", stale)
            object.member("asOf", asOf)
        }
    }

    private static func write(_ fields: DocumentFields, of kind: DocumentKind, to writer: inout JSONWriter) {
        writer.object { object in
            for field in kind.fields { object.member(field.rawValue, fields[field]) }
            if !fields.directives.isEmpty { object.array("directives", of: fields.directives) }
        }
    }
}

extension DocumentDirective: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("observed", observed)
            object.member("status", status)
            object.member("text", text)
        }
    }
}
