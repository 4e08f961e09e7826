/// The exit codes, as in sysexits(3). Scripts rely on them.
package enum ExitCode: Int32, Sendable, CaseIterable {
    case ok = 0
    case usage = 64
    case unavailable = 69
    case `internal` = 70
    case temporary = 75
    case noPermission = 77
    case configuration = 78

    package var meaning: String {
        switch self {
        case .ok: "done"
        case .usage: "the command line or a value in it is wrong"
        case .unavailable: "Ladle does not run, the gateway refused, or the run failed"
        case .internal: "a fault of Ladle itself"
        case .temporary: "not now: trying again may help"
        case .noPermission: "the credential or its scopes do not allow it"
        case .configuration: "the configuration is wrong"
        }
    }
}
