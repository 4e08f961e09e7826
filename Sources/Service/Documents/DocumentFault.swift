package import Documents
import Gateway

/// Why a file could not be read or changed.
package enum DocumentFault: Error {
    /// The gateway was asked and did not do it.
    case gateway(GatewayFault, about: String)
    /// The change breaks a rule of the file.
    case field(FieldError)
    /// The agent was asked by chat and did not finish.
    case agentSilent
    /// The file was written and reads otherwise now.
    case writeNotSeen(DocumentKind)
    /// The file is not the version that the caller means. `base` holds the fields of that version, while remembered.
    case moved(DocumentKind, current: DocumentService.Copy, DocumentWrite.Change, base: DocumentFields?)

    /// The gateway cannot be asked now: an earlier copy may stand in.
    var isAbsence: Bool {
        switch self {
        case .gateway(.notConnected, _), .gateway(.tooLarge, _), .gateway(.unanswered, _): true
        default: false
        }
    }
}

/// Which version of a file a change is meant for.
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
    var isMissingScope: Bool {
        if case .gateway(let error, _) = self { error.missingScope != nil } else { false }
    }

    /// The gateway answered no, for a reason other than a scope.
    var isRefusal: Bool {
        if case .gateway(let error, _) = self { error.missingScope == nil } else { false }
    }
}
