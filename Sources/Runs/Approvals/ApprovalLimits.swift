/// Bounds on what is kept of approvals, so that no gateway can fill our memory.
package enum ApprovalLimits {
    /// A longer command is not shown whole, so it can only be denied.
    package static let commandBytes = 64 << 10
    /// Approvals that wait at one time. A gateway holds a run for each; further ones are taken once there is room.
    package static let pending = 128
    /// Ended approvals in memory, for decisions that come late or twice; the database has all.
    static let ended = 64
    /// Ids of approvals that ended earlier. A list that still holds one does not make it new.
    package static let past = 1_024
    /// A decision this close to the end would only race it.
    static let marginMs: Int64 = 500
    /// Somebody else's decision of the last moment may still be on its way to us when the time is over.
    package static let graceMs: Int64 = 1_000
    /// If the gateway does not know an approval this shortly before its end, the approval's time is over.
    static let endingMs: Int64 = 2_000
    /// An approval without an end is asked about after this time, the life that releases of summer 2026 give it.
    static let usualLifeMs: Int64 = 1_800_000
    /// A gateway that tells a later end is asked after this time.
    static let longestLifeMs: Int64 = 86_400_000
    /// The time the gateway has to say whether an approval still waits.
    static let askingMs: Int64 = 60_000
    /// An approval that waits beyond its end is asked about this often.
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
