import Documents
import HTTPModel
import JSONBytes
import Server
import Service

extension DocumentCondition {
    init(_ condition: EntityTagCondition) {
        switch condition {
        case .any: self = .any
        case .tags(let tags): self = .tags(tags.filter { !$0.isWeak }.map(\.value))
        }
    }
}

/// Reasons why a file was not read or changed.
extension Problem {
    init(_ fault: DocumentFault) {
        switch fault {
        case .gateway(let fault, let what): self.init(fault, reading: what)
        case .field(let error): self.init(error)
        case .agentSilent:
            self.init(.agentDidNotAnswer, "The agent was asked to write the file and did not finish.")
        case .writeNotSeen(let kind):
            let detail = "\(kind.fileName) was written and reads otherwise now; someone else is writing it too."
            self.init(.writeNotSeen, detail)
        case .conflict(let kind, let hash):
            let detail = "\(kind.fileName) was changed by someone else each time before it could be written."
            self.init(.documentConflict, detail, field: "If-Match")
            if let hash { self = adding(member: "currentHash") { $0.string(hash) } }
        case .moved(let kind, let current, let change, let base):
            self = .moved(kind, current: current, change, base: base)
        }
    }

    init(_ error: FieldError) {
        let isLarge = if case .fileTooLarge = error { true } else { false }
        self.init(.invalidField, error.message, status: isLarge ? .contentTooLarge : nil, field: error.field)
    }

    /// 412 with everything the caller needs to try again: the current tag and, for each conflicting field, both values.
    /// If `base`, the version the caller means, is still remembered, only fields that changed since are conflicts;
    /// without any conflict the same change can be sent again with the current tag.
    private static func moved(
        _ kind: DocumentKind,
        current: DocumentService.Copy,
        _ change: DocumentWrite.Change,
        base: DocumentFields?
    ) -> Problem {
        let tag = EntityTag(DocumentService.tag(of: current.bytes))
        var problem = Problem(
            .preconditionFailed,
            "\(kind.fileName) is not the version that If-Match names.",
            field: "If-Match"
        ).adding(.etag, tag.text).adding(member: "currentETag") { $0.string(tag.text) }
        if case .fields(let patch) = change {
            let fields = FieldDocument(kind: kind, bytes: current.bytes).fields
            let conflicts = patch.conflicts(base: base, current: fields)
            problem = problem.adding(member: "conflicts") { writer in
                writer.array(of: conflicts)
            }
        }
        return problem
    }
}
