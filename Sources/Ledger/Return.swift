/// The table of a run that has ended: whether the gateway may bring it back by itself, in a run or in the session's next prompt.
package enum Return {
    /// Of the run, beside its end.
    package struct Work: Sendable {
        /// The run is about a message of ours.
        package var isOurs: Bool
        /// The gateway refused to run the message.
        package var wasRefused: Bool
        /// Some of its work was seen. A reported start does not show that a model was asked: April and June were seen to end such a run
        /// within 60 ms and to read its row with the next message.
        package var wasSeen: Bool
        /// It has text or steps.
        package var hasOutput: Bool
        /// The transcript has words or calls of the model behind the message's row. Without them, the model reads the message with the
        /// session's next one, as live on 2026.3.1, 2026.4.26 and 2026.6.11 after an error of the model's provider, of which no prompt
        /// has the row; 2026.6.11 also after a whole answer ("session file changed while embedded prompt lock was released").
        package var hasModelsWords: Bool

        package init(isOurs: Bool, wasRefused: Bool, wasSeen: Bool, hasOutput: Bool, hasModelsWords: Bool) {
            (self.isOurs, self.wasRefused, self.wasSeen) = (isOurs, wasRefused, wasSeen)
            (self.hasOutput, self.hasModelsWords) = (hasOutput, hasModelsWords)
        }
    }

    struct Row: Sendable {
        let name: String
        let fits: @Sendable (Ending, Work) -> Bool
        let mayReturn: @Sendable (MessageTraits) -> Bool
    }

    static let table: [Row] = [
        Row(name: "goes on as another run", fits: { end, _ in end.continuedAs != nil }, mayReturn: { _ in false }),
        Row(name: "its process is gone", fits: { end, _ in end.wasGivenUp }, mayReturn: { $0.resumesRuns }),
        Row(name: "of another client", fits: { !$1.isOurs }, mayReturn: { _ in false }),
        Row(
            name: "failed, and no answer stands behind its message",
            fits: { $0.end == .failed && ($1.wasRefused || !$1.hasModelsWords) },
            mayReturn: { _ in true }
        ),
        Row(
            name: "unknown, and not run",
            fits: { $0.end == .unknown && ($1.wasRefused || !$1.wasSeen) },
            mayReturn: { $0.readsRefusedRows }
        ),
        Row(
            name: "stopped at work",
            fits: { $0.end == .aborted && $1.hasOutput },
            mayReturn: { $0.mayBringBackStopped(wasAtWork: true) }
        ),
        Row(
            name: "stopped before it had output",
            fits: { end, _ in end.end == .aborted },
            mayReturn: { $0.mayBringBackStopped(wasAtWork: false) }
        ),
        Row(name: "over for good", fits: { _, _ in true }, mayReturn: { _ in false }),
    ]

    /// The row that decides. The last one fits everything.
    static func row(_ ending: Ending, _ work: Work) -> Row {
        table.first { $0.fits(ending, work) } ?? table[table.count - 1]
    }

    package static func mayFollow(_ ending: Ending, _ work: Work, _ gateway: MessageTraits) -> Bool {
        row(ending, work).mayReturn(gateway)
    }
}
