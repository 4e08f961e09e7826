import Gateway

/// Bounds on what is kept of questions, so that no gateway can fill our memory. The times are those of approvals.
package enum QuestionLimits {
    /// Questions that wait at one time: a gateway holds a run for each. Further ones are taken once there is room.
    package static let pending = 64
    /// Ended ones, so that an answer that comes again, or late, finds them.
    static let ended = 32
    static let headerBytes = 128
    static let textBytes = 2_048
    static let labelBytes = 256
    static let explanationBytes = 512
    /// Longest answer in a person's own words.
    package static let answerBytes = 4_096
    /// A question without an end is asked about after this time, the life that the newest releases give it.
    static let usualLifeMs: Int64 = 900_000
    /// Each option, and one in a person's own words.
    package static let answers = 1 + GatewayLimits.questionOptions
}
