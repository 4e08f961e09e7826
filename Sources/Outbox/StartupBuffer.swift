import Basics

/// Inputs that wait until it is known what an earlier process left: a new entry would overtake what waits on disk, and a
/// command would not find its entry.
///
/// While a database cannot be read the gateway goes on speaking and clients go on sending; so there is a limit. Entries beyond
/// it are on disk and are read there; who commands something is refused; a session that was reset counts as one that was
/// reset while this program did not run.
struct StartupBuffer: Sendable {
    /// Of about ten thousand entries without their texts, which is as many as wait at the most by default.
    static let mostBytes = 8 << 20
    /// About what an input takes beside its strings.
    private static let inputBytes = 512

    private(set) var inputs: [DispatcherInput] = []
    /// Not everything was kept: the disk knows more by now than what is being read from it.
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

    /// Commands are not kept while it is unknown when they could be carried out.
    mutating func takeCommands() -> [CommandToken] {
        let tokens = inputs.compactMap(\.token)
        inputs.removeAll { $0.token != nil }
        return tokens
    }
}

extension DispatcherInput {
    /// Of a command: whoever gave it waits for the answer.
    var token: CommandToken? {
        switch self {
        case .cancel(_, _, _, let token), .retry(_, _, let token): token
        default: nil
        }
    }
}
