import Basics
import Outbox
import Runs
import Store

/// The newest messages that were published on the event stream: the state of each, and the last answer of each session.
struct PublishedMessages: Sendable {
    /// How messages were published, by message.
    private var told: RecentValues<String, (state: ChatMessage.State, run: String?)>
    /// The newest published answer of each session. Answers are published in the order of their transcript; messages
    /// of people are not.
    private var answers: RecentValues<SessionKey, MessageCursor>

    /// More entries than change before the events of their messages are written.
    private static let newestChanges = 256

    /// - Parameter least: the number of messages to remember.
    init(atLeast least: Int) {
        told = RecentValues(atLeast: least)
        answers = RecentValues(atLeast: least)
    }

    /// The state in which a message was published; nil if it was not.
    subscript(id: String) -> ChatMessage.State? { told[id]?.state }

    /// Whether our message is on the stream in this state and, once it is sent, with this run.
    /// - Parameter run: the id by which the run goes now.
    func shows(_ id: String, _ state: ChatMessage.State, run: String?) -> Bool {
        guard let last = told[id], last.state == state else { return false }
        guard state == .sent, let run else { return true }
        return last.run == run
    }

    func answer(in session: SessionKey) -> MessageCursor? { answers[session] }

    mutating func add(_ message: ChatMessage, in session: SessionKey) {
        told[message.id] = (message.state, message.runID)
        guard message.role != .user, !message.isMadeOfRun, message.at >= answers[session]?.at ?? message.at else {
            return
        }
        answers[session] = MessageCursor(message)
    }

    /// The messages that are not on the stream.
    func unsaid(_ messages: ArraySlice<ChatMessage>) -> [ChatMessage] {
        messages.filter { self[$0.id] != $0.state && !isSaidByRun($0) }
    }

    /// Whether the text of the message's run was published before its transcript had it.
    private func isSaidByRun(_ message: ChatMessage) -> Bool {
        guard message.role != .user, let run = message.runID else { return false }
        return self[ChatMessage.id(ofRun: run)] != nil
    }

    /// Our messages whose present state or run an earlier process did not publish, oldest first.
    static func unsaid(_ table: SaidTable) throws -> [OutboxEntry] {
        let waiting = try table.unsent().filter { ChatMessage.State($0.entry.state) != $0.said }.map(\.entry)
        return try (waiting + table.sentWithAnotherRun(ofNewest: newestChanges)).sorted { $0.id < $1.id }
    }
}
