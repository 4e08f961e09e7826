import Basics
import Gateway
import Ledger
import Outbox
import Runs

extension ChatMessage {
    /// A message in the outbox, as shown to people.
    init?(_ entry: OutboxEntry, text: String, attachments: [MessageAttachment] = []) {
        guard let state = State(entry.state), !text.isEmpty || !attachments.isEmpty || state == .failed else {
            return nil
        }
        self.init(
            id: entry.id,
            role: .user,
            text: text,
            at: entry.createdAt,
            state: state,
            runID: entry.toldRun,
            attachments: attachments,
            error: state == .failed ? entry.fault?.detail : nil
        )
    }

    static func id(ofRun run: String) -> String { run + ":assistant" }

    /// Whether the text of a run was published without its transcript.
    var isMadeOfRun: Bool { runID.map { Self.id(ofRun: $0) == id } ?? false }

    /// Two texts with this many equal characters at the beginning are the same: gateways cut long ones.
    private static let compared = 200

    /// Whether a message of a transcript may be an answer of the run with this text, which joins the texts of its
    /// messages.
    func mayAnswer(_ runText: String) -> Bool {
        guard role != .user else { return false }
        let (own, whole) = (Words(text), Words(runText))
        if own.isEmpty || whole.isEmpty { return true }
        return whole.quote(own, first: Self.compared) || own.quote(whole, first: Self.compared)
    }

    /// The text of a run that no transcript shows.
    init?(_ run: Run) {
        guard !run.text.isEmpty || run.error != nil, !Housekeeping.isAnswer(run.text) else { return nil }
        self.init(
            id: Self.id(ofRun: run.id),
            role: .assistant,
            text: run.text,
            at: run.endedAt ?? run.startedAt,
            state: run.error == nil ? .sent : .failed,
            runID: run.id,
            error: run.error
        )
    }
}

extension ChatMessage.State {
    /// Nil for a cancelled message, which was never sent.
    init?(_ state: OutboxState) {
        switch state {
        case .queued, .sending, .retrying, .accepted, .unconfirmed: self = .sending
        case .delivered: self = .sent
        case .failed, .expired: self = .failed
        case .cancelled: return nil
        }
    }
}
