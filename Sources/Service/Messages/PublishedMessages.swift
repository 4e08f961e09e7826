import Basics
import Outbox
import Runs
import Store

/// The newest messages that were published on the event stream: the state of each, and the last answer of each session.
struct PublishedMessages: Sendable {
    /// The states in which messages were published, by message.
    private var states: RecentValues<String, ChatMessage.State>
    /// The newest published answer of each session. Answers are published in the order of their transcript; messages
    /// of people are not.
    private var answers: RecentValues<SessionKey, MessageCursor>

    /// - Parameter least: the number of messages to remember.
    init(atLeast least: Int) {
        states = RecentValues(atLeast: least)
        answers = RecentValues(atLeast: least)
    }

    /// The state in which a message was published; nil if it was not.
    subscript(id: String) -> ChatMessage.State? { states[id] }

    func answer(in session: SessionKey) -> MessageCursor? { answers[session] }

    mutating func add(_ message: ChatMessage, in session: SessionKey) {
        states[message.id] = message.state
        guard message.role != .user, !message.isMadeOfRun, message.at >= answers[session]?.at ?? message.at else {
            return
        }
        answers[session] = MessageCursor(message)
    }

    /// The messages that are not on the stream.
    func unsaid(_ messages: ArraySlice<ChatMessage>) -> [ChatMessage] {
        messages.filter { states[$0.id] != $0.state && !isSaidByRun($0) }
    }

    /// Whether the text of the message's run was published before its transcript had it.
    private func isSaidByRun(_ message: ChatMessage) -> Bool {
        guard message.role != .user, let run = message.runID else { return false }
        return states[ChatMessage.id(ofRun: run)] != nil
    }

    /// Our messages whose present state an earlier process did not publish, oldest first.
    static func unsaid(_ table: SaidTable) throws -> [OutboxEntry] {
        try table.unsent().filter { ChatMessage.State($0.entry.state) != $0.said }.map(\.entry).sorted { $0.id < $1.id }
    }
}
