/// Limits on the memory of one run and of one session, so that no gateway can fill our memory.
package enum ActivityLimits {
    /// Longest text kept of one run, in UTF-8 bytes. The gateway itself cuts history texts at 12,000 characters.
    package static let runTextBytes = 1 << 20
    /// Most steps kept of one run. A run with more steps still gets its text and its end.
    package static let stepsPerRun = 500
    /// Longest error text of a run, step or message, in characters.
    static let errorCharacters = 1_000
    /// Longest reasoning text kept as the detail of a thinking step, in characters.
    static let thinkingCharacters = 4_000
    /// Ended runs kept per session, for frames that come late.
    package static let endedRunsPerSession = 64
    /// Active runs per session; a gateway runs one and queues the rest.
    package static let activeRunsPerSession = 32
    /// Sessions with reducers in memory.
    package static let sessions = 1_024
    /// Memory of all runs together, as `RunReducer.weight` counts it. It holds thousands of usual runs or dozens of the largest.
    package static let trackerBytes = 64 << 20
    /// Text kept of one thought while it streams, which is more than its detail shows.
    static let thoughtBytes = 64 << 10
    /// Most runs of Ladle's own housekeeping whose ids are kept, so that they stay hidden.
    static let hiddenRuns = 1_000
    /// How many text frames of one run may still be put in order if they overtake each other.
    package static let reorderWindow = 32
    /// Most attachments listed for one message.
    static let attachmentsPerMessage = 32
}
