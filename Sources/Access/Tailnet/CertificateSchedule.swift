package import Basics

/// When tailscaled is asked for the certificate again. tailscaled itself renews it in the last third of its life, in the
/// background of a question; the next question gets the new one.
package struct CertificateSchedule: Sendable, Equatable {
    /// The pause while nobody but this host is asked.
    package static let lookMilliseconds: Int64 = 60_000
    /// The longest pause: a certificate that was revoked is replaced within a day.
    private static let longestMilliseconds: Int64 = 86_400_000
    /// In the last third of its life.
    private static let renewalMilliseconds: Int64 = 3_600_000
    /// Authorities allow five failed orders an hour.
    private static let backOffMilliseconds: [Int64] = [60_000, 600_000, 3_600_000, 21_600_000]

    private var asked: Timestamp?
    private var pause: Int64 = 0
    private var failures = 0

    package init() {}

    /// A clock that was set back asks at once.
    package func isDue(at now: Timestamp) -> Bool {
        guard let asked else { return true }
        let (passed, isHuge) = now.milliseconds.subtractingReportingOverflow(asked.milliseconds)
        return isHuge || passed < 0 || passed >= pause
    }

    /// Asks at once, and begins the pauses anew.
    package mutating func restart() { self = CertificateSchedule() }

    package mutating func issued(_ certificate: CertificatePeriod, at now: Timestamp) {
        asked = now
        failures = 0
        let third = certificate.lastThird.milliseconds.subtractingReportingOverflow(now.milliseconds).partialValue
        pause = min(max(third, Self.renewalMilliseconds), Self.longestMilliseconds)
    }

    package mutating func failed(_ obstacle: CertificateObstacle, at now: Timestamp) {
        asked = now
        if obstacle.isFoundAtHome {
            failures = 0
            pause = Self.lookMilliseconds
            return
        }
        if case .limited = obstacle { failures = Self.backOffMilliseconds.count - 1 }
        pause = Self.backOffMilliseconds[min(failures, Self.backOffMilliseconds.count - 1)]
        failures += 1
    }
}

/// From when to when a certificate counts.
package struct CertificatePeriod: Sendable, Equatable {
    package var notBefore: Timestamp
    package var notAfter: Timestamp

    package init(notBefore: Timestamp, notAfter: Timestamp) {
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// Where the last third of its life begins; tailscaled renews it from then on.
    package var lastThird: Timestamp {
        let life = max(notAfter.milliseconds.subtractingReportingOverflow(notBefore.milliseconds).partialValue, 0)
        return Timestamp(milliseconds: notAfter.milliseconds.subtractingReportingOverflow(life / 3).partialValue)
    }
}
