/// Limits on the memory of approvals, so that no gateway can fill it, and the times after which Ladle asks or gives up.
package enum ApprovalLimits {
    /// A longer command is not shown whole, so it can only be denied.
    package static let commandBytes = 64 << 10
    /// Most waiting approvals. A gateway holds a run for each; Ladle takes further ones once there is room.
    package static let pending = 128
    /// Most ended approvals in memory, for decisions that come late or twice. The database has all.
    static let ended = 64
    /// Most ids of approvals that ended earlier. They show that an approval in a list is not new.
    package static let past = 1_024
    /// A decision is refused this close to the approval's end, because it would come too late.
    static let marginMs: Int64 = 500
    /// How long Ladle waits after an approval's end: another client's decision of the last moment may still be on its way to us.
    package static let graceMs: Int64 = 1_000
    /// If the gateway does not know an approval so shortly before the approval's end, its time is over.
    static let endingMs: Int64 = 2_000
    /// Ladle asks about an approval without an end after this time. Releases of summer 2026 give approvals this life.
    static let usualLifeMs: Int64 = 1_800_000
    /// Ladle asks after this time if the gateway reports a later end.
    static let longestLifeMs: Int64 = 86_400_000
    /// The time the gateway has to say whether an approval still waits.
    static let askingMs: Int64 = 60_000
    /// How often Ladle asks about an approval that waits beyond its end.
    static let againMs: Int64 = 30_000
    static let titleCharacters = 120
    static let nameBytes = 512
    static let pathBytes = 4_096
    /// A page of a list ends with the approval that makes it this long. The longest approval takes most of a page.
    package static let pageBytes = 1 << 20
    /// Longest description and warning.
    static let explanationBytes = 2_048
    /// Most warnings, and most variables.
    static let lines = 32
}
