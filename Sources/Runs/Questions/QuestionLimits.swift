import Gateway

/// Limits on the memory of questions, so that no gateway can fill it. Most times are those of `ApprovalLimits`.
package enum QuestionLimits {
    /// Most waiting questions. A gateway holds a run for each; Ladle takes further ones once there is room.
    package static let pending = 64
    /// Most ended questions in memory, for answers that come late or twice.
    static let ended = 32
    static let headerBytes = 128
    static let textBytes = 2_048
    static let labelBytes = 256
    static let explanationBytes = 512
    /// Longest answer in a person's own words.
    package static let answerBytes = 4_096
    /// Ladle asks about a question without an end after this time. The newest releases give questions this life.
    static let usualLifeMs: Int64 = 900_000
    /// Most answers to a part: each option, and one in a person's own words.
    package static let answers = 1 + GatewayLimits.questionOptions
}
