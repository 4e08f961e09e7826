/// Differences between gateway releases in how they show the end of a run.
package struct GatewayTraits: Sendable, Equatable {
    /// A gateway resumes an interrupted run within this time (2026.6.11 after 6 s, 2026.4.26 after 34 s) or, as a rule, not at all.
    package static let resumeMilliseconds: Int64 = 60_000

    /// The gateway sends each row of a transcript when it writes the row. The oldest release does not; it also leaves the output of
    /// commands out of its events.
    package var sendsRows: Bool
    /// A page of the transcript says whether a run is under way. Gateways without this are asked about each run.
    package var pagesTellRuns: Bool

    package init(sendsRows: Bool = true, pagesTellRuns: Bool = true) {
        self.sendsRows = sendsRows
        self.pagesTellRuns = pagesTellRuns
    }

    /// 2026.3.1 reports the first of several failed tries as the run's error and says nothing of the later ones.
    var triesAgainAfterError: Bool { !sendsRows }
    /// Asked about a run, the gateway answers `failed` only after the last try, which comes within seconds. 2026.4.26 answers so
    /// already in the pause before the next try, which takes up to a minute; the last try ends with an event.
    var waitsForRetry: Bool { !sendsRows }
    /// After a restart the gateway resumes interrupted runs by itself, as runs with new ids; 2026.3.1 never does.
    package var resumesRuns: Bool { sendsRows }
}
