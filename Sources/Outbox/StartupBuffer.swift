import Basics

/// Inputs that wait until the saved entries are loaded: a new entry would overtake the saved ones, and a command would not
/// find its entry.
///
/// While the database cannot be read, the gateway and the clients go on sending; so there is a limit. Entries beyond it are
/// on disk and are loaded from there, commands are refused, and the reset of a session counts as one that happened while
/// this program did not run.
struct StartupBuffer: Sendable {
    /// Of about ten thousand entries without their texts, which is as many as wait at the most by default.
    static let mostBytes = 8 << 20
    /// About what an input takes beside its strings.
    private static let inputBytes = 512

    private(set) var inputs: [DispatcherInput] = []
    /// Some inputs were dropped: the entries being loaded are older than the disk by now.
    private(set) var hasMissed = false
    private var bytes = 0

    /// False when there is no room for it.
    mutating func keep(_ input: DispatcherInput) -> Bool {
        var input = input
        var cost = Self.inputBytes
        switch input {
        case .enqueued(var entry):
            entry.text = nil
            input = .enqueued(entry)
            cost += entry.session.utf8.count
        case .routeChanged(let session, let detail): cost += (session?.utf8.count ?? 0) + detail.utf8.count
        case .cancel(let id, _, _, _), .retry(let id, _, _): cost += id.utf8.count
        case .refusedByRun(let key, let fault, _): cost += key.utf8.count + fault.detail.utf8.count
        default: break
        }
        guard bytes + cost <= Self.mostBytes else {
            hasMissed = true
            return false
        }
        bytes += cost
        inputs.append(input)
        return true
    }

    /// Takes out the commands, which are refused while it is unknown when they could be carried out.
    mutating func takeCommands() -> [CommandToken] {
        let tokens = inputs.compactMap(\.token)
        inputs.removeAll { $0.token != nil }
        return tokens
    }
}

extension DispatcherInput {
    /// The token of a command, whose sender waits for the answer.
    var token: CommandToken? {
        switch self {
        case .cancel(_, _, _, let token), .retry(_, _, let token): token
        default: nil
        }
    }
}
