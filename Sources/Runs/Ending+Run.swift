import Labels
import Ledger

extension Ending {
    var state: Run.State {
        switch end {
        case nil: .running
        case .completed: .completed
        case .aborted, .reset: .aborted
        case .failed, .interrupted, .evicted, .unknown: .failed
        }
    }

    /// The error as the provider reported it, without secrets, or a text of our own for an end that no provider reported.
    var error: String? {
        switch end {
        case .completed, .aborted, .reset, nil: nil
        case .failed: providersError.map { SecretMask.text($0) } ?? (isShown ? Self.noReason : Self.unknownEnd)
        case .interrupted: continuedAs == nil ? Self.cutOff : Self.continued
        case .evicted: Self.tooMany
        case .unknown: over == .replacedUnseen ? Self.unseenEnd : Self.unknownEnd
        }
    }

    private static let noReason = "The model stopped with an error."
    private static let cutOff = "The gateway was restarted during this run and does not go on with it."
    private static let continued = "The gateway was restarted during this run and goes on with it in another run."
    static let unknownEnd = "The gateway says that this run is over, and its history does not show how it ended."
    static let unseenEnd = "The session was reset while Ladle was away, so nothing shows how this run ended."
    static let tooMany =
        "More runs are under way than Ladle follows; how this one goes on is in the gateway's history."
}
