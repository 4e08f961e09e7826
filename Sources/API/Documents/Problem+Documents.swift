import Documents
import Gateway
import HTTPModel
import JSONBytes
import Server
import Service
import Upstream

extension DocumentCondition {
    init(_ condition: EntityTagCondition) {
        switch condition {
        case .any: self = .any
        case .tags(let tags): self = .tags(tags.filter { !$0.isWeak }.map(\.value))
        }
    }
}

extension Problem {
    init(_ fault: DocumentFault, over gateway: any GatewayCalls) {
        switch fault {
        case .call(let failure, let what): self.init(failure, reading: what, over: gateway)
        case .field(let error): self.init(error)
        case .agentSilent: self = .agentSilent
        case .writeNotSeen(let kind): self = .writeNotSeen(kind)
        case .moved(let kind, let current, let change, let base):
            self = .moved(kind, current: current, change, base: base)
        }
    }

    /// A gateway call that did not succeed.
    private init(_ failure: CallFailure, reading what: String, over link: any GatewayCalls) {
        switch failure {
        case .gateway(let error, _):
            if let missing = Problem(missingScope: error, over: link) {
                self = missing
                return
            }
            let isUnknown = error.message.contains("unknown agent") || error.code == "NOT_FOUND"
            self.init(
                isUnknown ? .unknownAgent : .gatewayRefused,
                "\(what): \(error.message)",
                retryable: error.retryable,
                retryAfterMs: error.retryAfterMs
            )
            members.append(("gatewayCode", Problem.json(error.detailsCode ?? error.code)))
        case .notDispatched, .ambiguous:
            self.init(
                .gatewayUnavailable,
                "The gateway cannot be asked now: \(what) could not be read or written.",
                retryAfterMs: 3000
            )
        case .unreadable(let error):
            self.init(.gatewayAnswerUnreadable, "The gateway's answer to \(error.method) lacks \(error.missing).")
        }
    }

    private static func json(_ text: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.string(text)
        return writer.bytes
    }

    init(_ error: FieldError) {
        let isLarge = if case .fileTooLarge = error { true } else { false }
        self.init(.invalidField, error.message, status: isLarge ? .contentTooLarge : nil, field: error.field)
    }

    static let agentSilent = Problem(.agentDidNotAnswer, "The agent was asked to write the file and did not finish.")

    static func writeNotSeen(_ kind: DocumentKind) -> Problem {
        Problem(.writeNotSeen, "\(kind.fileName) was written and reads otherwise now; someone else is writing it too.")
    }

    static let preconditionRequired = Problem(
        .preconditionRequired,
        "A write says which version it is meant for.",
        field: "If-Match"
    )

    /// 412 with what the caller needs to go on: the current tag and, field by field, both values. Where `base`, the version
    /// the caller means, is still known, only fields that changed since are conflicts; without any, the same change can be
    /// sent again with the current tag.
    static func moved(
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
