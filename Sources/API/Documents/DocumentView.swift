import Basics
import Documents
package import JSONBytes
import Service

/// The API resource: `{agent, fields, markdown, path?, stale, asOf}`.
struct DocumentView: JSONWritable {
    let agent: String
    let document: FieldDocument
    let path: DocumentWrite.Path?
    let stale: Bool
    let asOf: Timestamp
    /// The gateway has no such file by design.
    var isExpectedAbsent = false

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("agent", agent)
            object.object("fields") { inner in
                for field in document.kind.fields { inner.member(field.rawValue, document.fields[field]) }
                let directives = document.fields.directives
                if !directives.isEmpty { inner.array("directives", of: directives) }
            }
            object.key("markdown")
            object.string(utf8: document.bytes)
            object.member("path", path?.rawValue)
            object.member("stale", stale)
            object.member("asOf", asOf)
            if isExpectedAbsent { object.member("absentByDesign", true) }
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

extension FieldConflict: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("field", field.rawValue)
            object.member("current", current)
            object.member("requested", requested)
        }
    }
}
