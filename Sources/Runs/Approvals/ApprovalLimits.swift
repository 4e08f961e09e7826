/// Bounds on what is kept of approvals, so that no gateway can fill our memory.
package enum ApprovalLimits {
    /// A longer command is not shown whole, so it can only be denied.
    package static let commandBytes = 64 << 10
    /// Approvals that wait at one time. A gateway holds a run for each; further ones are taken once there is room.
    package static let pending = 128
    /// Ended ones in memory, so that a decision that comes again, or late, finds them; the database has all.
    static let ended = 64
    /// What ended earlier is known by its id alone, so that a list that repeats it does not ask again.
    package static let past = 1_024
    /// A decision this close to the end would only race it.
    static let marginMs: Int64 = 500
    /// Somebody else's decision of the last moment may still be on its way to us when the time is over.
    package static let graceMs: Int64 = 1_000
    /// A gateway that says within this time of the end that it has no such approval means that the time is over.
    static let endingMs: Int64 = 2_000
    /// Where the gateway tells no end it is asked after this time: what the releases of summer 2026 give it.
    static let usualLifeMs: Int64 = 1_800_000
    /// A gateway that tells a later end is asked after this time.
    static let longestLifeMs: Int64 = 86_400_000
    /// A gateway that was asked whether one still waits has this long to answer.
    static let askingMs: Int64 = 60_000
    /// One that waits beyond its end is asked about this often.
    static let againMs: Int64 = 30_000
    static let titleCharacters = 120
    static let nameBytes = 512
    static let pathBytes = 4_096
    /// A page of a list ends with the approval that makes it this long: one of the longest can take most of it.
    package static let pageBytes = 1 << 20
    /// Longest description and warning.
    static let explanationBytes = 2_048
    /// Most warnings and variables.
    static let lines = 32
}
