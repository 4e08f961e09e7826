import Basics
import Outbox
import Runs
import Store

/// The newest messages that were published on the event stream: the state of each, and up to which message the stream has each
/// session's transcript.
struct PublishedMessages: Sendable {
    /// The longest time from a run's end to the publication of its messages: a busy gateway takes long to return the transcript.
    private static let lookMilliseconds: Int64 = 60_000
    /// The longest time for which a link may have been silent before it counts as lost.
    private static let silenceMilliseconds: Int64 = 120_000

    /// The states in which messages were published, by message.
    private var states: RecentValues<String, ChatMessage.State>
    /// The newest published answer of each session. Answers are published in the order of their transcript; messages
    /// of people are not.
    private var answers: RecentValues<SessionKey, MessageCursor>
    /// The sessions with events since `begun`, those with the newest events first.
    private(set) var sessions: [SessionKey] = []
    /// Runs that ended shortly before the log's end, without an answer in their session since, oldest first.
    private(set) var unansweredRuns: [Run] = []
    /// All messages published since this time are known here; earlier ones may have been forgotten.
    private var begun: Timestamp?
    /// In a session without recent events, messages from after this time count as missed. At first the time of the log's last event,
    /// then that of the last loss of the link; nil for a new log before the first link.
    private(set) var start: Timestamp?
    /// Sessions that changed since `start` may not have been found yet.
    private(set) var hasGap = false
    /// Whether these times are on the gateway's clock; until the first link they are on ours.
    private var isAligned = false

    /// - Parameter least: the number of messages to remember.
    init(atLeast least: Int) {
        states = RecentValues(atLeast: least)
        answers = RecentValues(atLeast: least)
    }

    /// The messages that an earlier process of Ladle published.
    init(_ tables: StoreTables, atLeast least: Int) throws {
        self.init(atLeast: least)
        guard let end = try tables.events.newestTime() else { return }
        start = end
        hasGap = true
        let newest = try tables.said.newest(least)
        for said in newest.reversed() { add(said.message, in: said.session) }
        let first = newest.count < least ? 0 : newest.last?.sequence ?? 0
        begun = try tables.events.time(from: first)
        sessions = try tables.events.sessions(from: first, limit: least)
        unansweredRuns = try tables.runs.unanswered(since: end.adding(milliseconds: -Self.lookMilliseconds))
    }

    // MARK: Published messages

    /// The state in which a message was published; nil if it was not.
    subscript(id: String) -> ChatMessage.State? { states[id] }

    mutating func add(_ message: ChatMessage, in session: SessionKey) {
        states[message.id] = message.state
        guard message.role != .user, !message.isMadeOfRun, message.at >= answers[session]?.at ?? message.at else {
            return
        }
        answers[session] = MessageCursor(message)
    }

    /// Called when a link opens, before messages are looked for. The times in the log are moved to the gateway's clock
    /// once: a later step of our own clock does not change them.
    mutating func linkOpened(gatewayTime: Timestamp, clockSkewMs: Int64) {
        guard !isAligned else { return }
        isAligned = true
        start = start?.adding(milliseconds: clockSkewMs) ?? gatewayTime
        begun = begun?.adding(milliseconds: clockSkewMs)
    }

    // MARK: Missed messages

    mutating func linkLost(gatewayTime: Timestamp) {
        guard !hasGap, let start else { return }
        self.start = max(start, gatewayTime.adding(milliseconds: -Self.silenceMilliseconds))
        hasGap = true
    }

    /// The sessions that changed since `start` have been found.
    mutating func sessionsFound() { hasGap = false }

    /// The place up to which the stream has the session's transcript.
    func place(in session: SessionKey) -> MessageCursor? {
        if let answer = answers[session] { return answer }
        return (sessions.contains(session) ? begun : start).map { MessageCursor(at: $0, id: "") }
    }

    /// The messages behind a place that are not on the stream.
    func unsaid(_ messages: ArraySlice<ChatMessage>, after place: MessageCursor) -> [ChatMessage] {
        Self.messages(messages, after: place).filter { states[$0.id] != $0.state && !isSaidByRun($0) }
    }

    static func messages(_ messages: ArraySlice<ChatMessage>, after place: MessageCursor) -> ArraySlice<ChatMessage> {
        let last = messages.lastIndex { $0.id == place.id } ?? messages.lastIndex { $0.at <= place.at }
        var first = last.map { $0 + 1 } ?? messages.startIndex
        // A place without an id is the time of an event, which is written just after the user's message that led to it. So if only
        // the answer lies behind the place, the user's message before it counts as missed too.
        if place.id.isEmpty, let last, first < messages.endIndex, messages[first].role != .user,
            messages[last].role == .user
        {
            first = last
        }
        return messages[first...]
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
