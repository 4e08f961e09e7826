import Access
import EventLoops
import Observability

/// Decides which requests leave a line in the audit file, on the loop. Every change does. Refusals do within limits, so
/// that nobody can push older lines out of the file with forbidden requests: strangers leave none, limited callers so
/// many a minute.
package final class AuditLog {
    /// The most callers told apart at one time.
    private static let mostCallers = 1024

    let trail: AuditTrail
    private var refusals: [Caller: LogBudget] = [:]

    init(_ trail: AuditTrail) {
        self.trail = trail
    }

    /// Nil for one refusal too many, otherwise the number of this caller's refusals left out before it.
    func admits(_ outcome: AuditRecord.Outcome, by caller: Caller, on loop: isolated EventLoop) -> UInt64? {
        guard case .refused = outcome else { return 0 }
        if caller == .nobody { return nil }
        guard caller.isLimited else { return 0 }
        let caller = caller.principal
        if refusals[caller] == nil, refusals.count >= Self.mostCallers { refusals = [:] }
        return refusals[caller, default: LogBudget(burst: 60, perSecond: 1)].take(now: loop.now)
    }
}
