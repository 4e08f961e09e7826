import Basics

/// The phase until the saved entries are loaded. Inputs wait: a new entry would overtake the saved ones, and a command
/// would not find its entry.
///
/// While the database cannot be read, the gateway and the clients keep sending, so the waiting inputs are limited.
/// Further entries are on disk and are loaded from there, commands are refused, and a session's reset is treated as one
/// that happened while Ladle did not run.
struct DispatcherStartup: Sendable {
    /// The size of about ten thousand entries without their texts, the default limit of waiting entries.
    static let mostBytes = 8 << 20
    /// The approximate size of an input without its strings.
    private static let inputBytes = 512

    /// The reason why the saved entries could not be loaded yet.
    private(set) var fault: String?
    private(set) var isOver = false
    /// The ids of runs that ended meanwhile, because their entries are not loaded yet.
    private(set) var endedRuns: Set<String> = []
    /// More runs than end while a database is opened.
    private static let mostEndedRuns = 1_024
    private var waiting: [DispatcherInput] = []
    /// Some inputs were dropped, so the entries being loaded are older than the disk.
    private var hasMissed = false
    private var bytes = 0

    /// Returns the inputs to handle now, and the orders that follow.
    mutating func take(_ input: DispatcherInput) -> (inputs: [DispatcherInput], actions: [DispatcherAction]) {
        guard !isOver else { return ([input], []) }
        switch input {
        case .loaded where hasMissed:
            // Inputs were dropped, but they are on disk: the next load brings them.
            let refusals = refuseCommands()
            forget()
            return ([], refusals + [.load])
        case .loaded:
            isOver = true
            fault = nil
            defer { forget() }
            return ([input] + waiting, [])
        case .loadFailed(let detail):
            fault = detail
            return ([], refuseCommands())
        case .cancel(_, _, _, let token), .retry(_, _, let token):
            return ([], fault != nil || !keep(input) ? [refusal(token)] : [])
        case .enqueued, .routeChanged, .stopped, .mayRunAgain, .nothingToStop, .refusedByRun, .refuses, .refusesNoMore,
            .paused, .goesOn:
            _ = keep(input)
            return ([], [])
        case .taken, .evidence:
            // Entries that may have arrived are searched for in the transcript after loading.
            return ([], [])
        case .run(_, let run, .ended):
            if endedRuns.count < Self.mostEndedRuns { endedRuns.insert(run) }
            return ([input], [])
        case .link, .run, .persisted, .persistFailed, .outcome, .searched, .refusesQueueModes, .tick:
            return ([input], [])
        }
    }

    /// False if there is no room for the input.
    private mutating func keep(_ input: DispatcherInput) -> Bool {
        var input = input
        var cost = Self.inputBytes
        switch input {
        case .enqueued(var entry):
            entry.text = nil
            input = .enqueued(entry)
            cost += entry.session.utf8.count
        case .routeChanged(let session, let detail): cost += (session?.utf8.count ?? 0) + detail.utf8.count
        case .cancel(let id, _, _, _), .retry(let id, _, _), .stopped(let id), .mayRunAgain(let id),
            .nothingToStop(let id):
            cost += id.utf8.count
        case .refusedByRun(let key, let fault): cost += key.utf8.count + fault.detail.utf8.count
        case .refuses(let session): cost += session.utf8.count
        default: break
        }
        guard bytes + cost <= Self.mostBytes else {
            hasMissed = true
            return false
        }
        bytes += cost
        waiting.append(input)
        return true
    }

    private mutating func forget() {
        waiting = []
        hasMissed = false
        bytes = 0
    }

    /// Refuses waiting commands, because nobody knows when they could be carried out.
    private mutating func refuseCommands() -> [DispatcherAction] {
        let tokens = waiting.compactMap(\.token)
        waiting.removeAll { $0.token != nil }
        return tokens.map(refusal)
    }

    private func refusal(_ token: CommandToken) -> DispatcherAction {
        .answer(token, .failure(.storage(.unavailable(fault ?? "the waiting entries are still being read"))))
    }
}

extension DispatcherInput {
    /// The token of a command, to which the answer belongs.
    fileprivate var token: CommandToken? {
        switch self {
        case .cancel(_, _, _, let token), .retry(_, _, let token): token
        default: nil
        }
    }
}
