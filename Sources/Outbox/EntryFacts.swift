import Ledger

/// The facts about an entry's message at the gateway, as the ledger's table takes them: each with the key and the connection to which it
/// belongs.
struct EntryFacts: Sendable {
    private var turn: Turn
    /// Counts the connections since the entry was loaded. What follows a call without an answer counts as another connection.
    private var contact = 1
    /// Counts the stops of the run and their withdrawals, so that the last one decides.
    private var wills = 0

    init(_ entry: OutboxEntry) { turn = Turn(entry.facts) }

    // MARK: Reading

    func decision(_ traits: MessageTraits) -> Decision { Decision(turn.verdict, traits) }

    /// The answers that are known now.
    var knowledge: Fact.Knowledge { turn.knowledge }

    /// A whole page was read over the present connection.
    var hasFreshPage: Bool { turn.verdict.marks.contains(.fresh) }

    // MARK: Facts

    mutating func take(_ fact: Fact) { turn.take(fact) }

    /// The gateway has nothing of the entry, or a person sends it again: what was known and told before is no longer so.
    mutating func startAnew(_ entry: OutboxEntry) { turn = Turn(entry.facts) }

    /// - Parameter continuity: whether the gateway's process is that of the last connection.
    mutating func connected(_ continuity: Continuity) {
        contact += 1
        turn.take(.contact(contact, continuity))
    }

    mutating func sent(_ entry: OutboxEntry) { turn.take(.sent(key: entry.keyGeneration, contact: contact)) }

    /// The frame of this dispatch was not sent, or the gateway did not take it.
    mutating func unsent(_ entry: OutboxEntry) {
        turn.take(.unsent(key: entry.keyGeneration, contact: contact))
        connected(.same)
    }

    mutating func unanswered() { connected(.same) }

    mutating func answered(_ entry: OutboxEntry, _ answer: Fact.Answer) {
        turn.take(.answered(key: entry.keyGeneration, contact: contact, answer))
    }

    /// The gateway showed over the present connection that it has the message.
    mutating func taken(_ entry: OutboxEntry) {
        wasSent(entry)
        answered(entry, .taken)
    }

    /// The transcript has the message's row. Where the gateway had refused to run the message, the row was found with its answer.
    mutating func rowFound(_ entry: OutboxEntry, _ proof: OutboxProof, _ end: Fact.End? = nil) {
        wasSent(entry)
        // A row with the words of a message whose run was seen is no other client's.
        let isByWords = proof == .textMatch && !turn.verdict.marks.contains(.begun)
        let tie: Tie = isByWords ? .likely : .certain
        turn.take(.row(Fact.Row(proof.rawValue, tie, end ?? (entry.wasRefused ? .answered : nil))))
    }

    /// A sign of the message at the gateway shows that its frame was sent, although its row in the database does not say so any more.
    private mutating func wasSent(_ entry: OutboxEntry) {
        if turn.newest?.key != entry.keyGeneration { sent(entry) }
    }

    /// - Parameters:
    ///   - number: counts the pages of all entries.
    ///   - knew: the answers that were known when the page was asked for.
    mutating func read(_ page: SearchReport, number: Int, knew: Fact.Knowledge) {
        turn.take(
            .page(
                Fact.Page(
                    number: number,
                    contact: contact,
                    isShared: page.isShared,
                    // A run in progress may be the message's own, under an id that the gateway chose.
                    isWhole: page.isComplete && !page.hasActiveRun,
                    activity: page.hasActiveRun ? .other : .idle,
                    receipt: page.receipt,
                    knew: knew
                )
            )
        )
    }

    /// The gateway had time to show the message.
    mutating func waited() { turn.take(.waited(contact: contact)) }

    mutating func want(_ will: Fact.Will) {
        wills += 1
        turn.take(.will(will, number: wills))
    }
}
