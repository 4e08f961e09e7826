package import Basics

/// Ends that no attempt brings about.
extension OutboxRules {
    package func expired(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange {
        let detail =
            switch entry.state {
            case .unconfirmed, .accepted: "its delivery could not be shown in the time it had"
            default:
                entry.fault.map { "not sent in the time it had; last: \($0.detail)" } ?? "not sent in the time it had"
            }
        return change(entry, now: now) { entry in
            entry.state = .expired
            entry.nextAttemptAt = nil
            entry.fault = .expired(detail)
        }
    }

    package func targetChanged(_ entry: OutboxEntry, now: Timestamp, detail: String) -> OutboxChange {
        let fault = OutboxFault.targetChanged(detail)
        let attempt = OutboxAttempt(of: entry, at: now, .routeChanged, fault)
        return change(entry, now: now, attempt: attempt) { entry in
            entry.state = .failed
            entry.nextAttemptAt = nil
            entry.lastClass = .routeChanged
            entry.fault = fault
        }
    }

    package func failedWithout(attempt entry: OutboxEntry, now: Timestamp, fault: OutboxFault) -> OutboxChange {
        change(entry, now: now) { entry in
            entry.state = .failed
            entry.nextAttemptAt = nil
            entry.fault = fault
        }
    }

    package func superseded(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange {
        change(entry, now: now) { entry in
            entry.state = .cancelled
            entry.nextAttemptAt = nil
            entry.fault = .superseded
        }
    }
}
