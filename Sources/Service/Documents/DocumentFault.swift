package import Documents
import Gateway

/// The reasons why a file was not read or changed.
package enum DocumentFault: Error {
    /// The gateway did not carry out the call.
    case gateway(GatewayFault, about: String)
    /// The change breaks a rule of the file.
    case field(FieldError)
    /// The agent was asked by chat and did not finish in time.
    case agentSilent
    /// The write succeeded, but the file then read differently.
    case writeNotSeen(DocumentKind)
    /// Someone else wrote the file between each read and write. `hash` is the SHA-256 of what it has now, as the gateway says.
    case conflict(DocumentKind, hash: String?)
    /// The file is not the version the caller means. `base` holds that version's fields if they are still remembered.
    case moved(DocumentKind, current: DocumentService.Copy, DocumentWrite.Change, base: DocumentFields?)

    /// Whether the gateway is unreachable, so that an earlier copy may be used.
    var isAbsence: Bool {
        switch self {
        case .gateway(.tooLarge, _): true
        case .gateway(let fault, _): fault.isAbsence
        default: false
        }
    }
}

/// The version of a file that a change is meant for.
package enum DocumentCondition {
    case any
    case tags([String])

    func matches(_ tag: String) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains(tag)
        }
    }
}

extension CallFailure {
    var fileConflict: AgentFileConflict? {
        if case .gateway(let error, _) = self { error.fileConflict } else { nil }
    }

    var isMissingScope: Bool {
        if case .gateway(let error, _) = self { error.missingScope != nil } else { false }
    }

    /// Whether the gateway refused for a reason other than a scope.
    var isRefusal: Bool {
        if case .gateway(let error, _) = self { error.missingScope == nil } else { false }
    }
}
