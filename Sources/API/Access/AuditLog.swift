import Access
import EventLoops
import Observability

/// Which requests leave a line in the audit file, on the loop. Every change does. What was refused does too, as far as nobody
/// can push older lines out of the file by asking for what he may not have: strangers leave none, limited callers so many a
/// minute.
package final class AuditLog {
    /// More callers than this are not told apart at one time.
    private static let mostCallers = 1024

    let trail: AuditTrail
    private var refusals: [String: LogBudget] = [:]

    init(_ trail: AuditTrail) {
        self.trail = trail
    }

    /// Nil when it is one refusal too many, else how many of this caller's were left out before it.
    func admits(_ outcome: AuditRecord.Outcome, by caller: Caller, on loop: isolated EventLoop) -> UInt64? {
        guard case .refused = outcome else { return 0 }
        if caller == .nobody { return nil }
        guard caller.isLimited else { return 0 }
        let label = caller.label
        if refusals[label] == nil, refusals.count >= Self.mostCallers { refusals = [:] }
        return refusals[label, default: LogBudget(burst: 60, perSecond: 1)].take(now: loop.now)
    }
}
