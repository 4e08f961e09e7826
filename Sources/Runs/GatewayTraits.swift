/// Differences between gateway releases that decide how the end of a run is known.
package struct GatewayTraits: Sendable, Equatable {
    /// A gateway takes an interrupted run up again within this time (2026.6.11 after 6 s, 2026.4.26 after 34 s) or not at all.
    package static let resumeMilliseconds: Int64 = 60_000

    /// It sends each row of a transcript as it is written. The oldest release does not; it also leaves the output of commands
    /// out of its events.
    package var sendsRows: Bool
    /// Its pages tell whether a run is under way. The others are asked about each run.
    package var pagesTellRuns: Bool

    package init(sendsRows: Bool = true, pagesTellRuns: Bool = true) {
        self.sendsRows = sendsRows
        self.pagesTellRuns = pagesTellRuns
    }

    /// 2026.3.1 reports the first of several failed tries as the run's error and says nothing of the later ones.
    var triesAgainAfterError: Bool { !sendsRows }
    /// Its word that a run failed waits for the last try, which comes within seconds. 2026.4.26 says so in the pause before the next
    /// one, up to a minute long, and ends the last try with an event.
    var waitsForRetry: Bool { !sendsRows }
    /// After a restart it takes up interrupted runs by itself, under ids of its own; 2026.3.1 never does.
    var resumesRuns: Bool { sendsRows }
}
