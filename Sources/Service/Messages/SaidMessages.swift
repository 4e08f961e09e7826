import Basics
import EventStream
import Outbox
import Runs
import Store

/// The newest messages on the stream: their states, and how far the stream has each session's transcript. An earlier
/// process's messages are read from the event log.
struct SaidMessages: Sendable {
    /// The most events, and the most bytes of messages, read from the log.
    private static let mostEvents = 10_000
    private static let mostBytes = 16 << 20
    /// The longest time from a run's end to its messages, since a busy gateway takes long to answer.
    private static let lookMilliseconds: Int64 = 60_000

    private let least: Int
    /// The states in which messages were published, by message.
    private var states: RecentValues<String, ChatMessage.State>
    /// The newest published answer of each session. Answers are published in the order of their transcript; messages
    /// of people are not.
    private var answers: RecentValues<SessionKey, MessageCursor>
    /// The time of the oldest event of each session in the log.
    private var begun: [SessionKey: Timestamp] = [:]
    /// The sessions in the log, those with the newest events first.
    private(set) var sessions: [SessionKey] = []
    /// Runs that ended shortly before the log's end, without an answer in their session since, oldest first.
    private(set) var unansweredRuns: [String] = []
    /// Our messages that the log does not show as sent.
    private var pending: [String] = []
    /// The time of the oldest event that was read, on our clock.
    private var oldest: Timestamp?
    /// From this time on the stream has the messages of all sessions; nil for a new log before the first link.
    private(set) var start: Timestamp?
    /// Whether these times are on the gateway's clock; until the first link they are on ours.
    private var isAligned = false

    /// - Parameter least: the number of messages to remember.
    init(atLeast least: Int) {
        self.least = least
        states = RecentValues(atLeast: least)
        answers = RecentValues(atLeast: least)
    }

    /// Reads the newest events of the log.
    init(_ events: EventTable, atLeast least: Int) throws {
        self.init(atLeast: least)
        var found: [(message: ChatMessage, session: SessionKey)] = []
        var answered: Set<SessionKey> = []
        var bytes = 0
        try events.scanBack(Self.mostEvents, dataOf: "message") { event in
            let end = start ?? event.at
            start = end
            oldest = event.at
            guard let session = event.session.map({ SessionKey(canonical: $0) }) else { return true }
            if begun.updateValue(event.at, forKey: session) == nil { sessions.append(session) }
            bytes += event.data.count
            if !event.data.isEmpty, let message = ChatMessage(published: event.data) {
                found.append((message, session))
                if message.role != .user { answered.insert(session) }
            }
            if event.type == "run.ended", let run = event.run, !answered.contains(session),
                event.at.adding(milliseconds: Self.lookMilliseconds) >= end
            {
                unansweredRuns.append(run)
            }
            return found.count < least && bytes < Self.mostBytes
        }
        unansweredRuns.reverse()
        for (message, session) in found.reversed() { add(message, in: session) }
        var seen: Set<String> = []
        for (message, _) in found where message.role == .user && seen.insert(message.id).inserted {
            if message.state != .sent { pending.append(message.id) }
        }
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
        begun = begun.mapValues { $0.adding(milliseconds: clockSkewMs) }
    }

    // MARK: Missed messages

    /// The place up to which the stream has the session's transcript.
    func place(in session: SessionKey) -> MessageCursor? {
        if let answer = answers[session] { return answer }
        return (begun[session] ?? start).map { MessageCursor(at: $0, id: "") }
    }

    /// The messages behind a place that are not on the stream.
    func unsaid(_ messages: ArraySlice<ChatMessage>, after place: MessageCursor) -> [ChatMessage] {
        Self.messages(messages, after: place).filter { states[$0.id] != $0.state && !isSaidByRun($0) }
    }

    static func messages(_ messages: ArraySlice<ChatMessage>, after place: MessageCursor) -> ArraySlice<ChatMessage> {
        let last = messages.lastIndex { $0.id == place.id } ?? messages.lastIndex { $0.at <= place.at }
        var first = last.map { $0 + 1 } ?? messages.startIndex
        // An event's time lies just after the question that led to it.
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
    func unsaid(_ outbox: OutboxTable) throws -> [OutboxEntry] {
        guard let oldest else { return [] }
        // An older entry's message may be in a part of the log that was not read.
        let open = try outbox.open().filter { states[$0.id] == nil && $0.createdAt >= oldest }
        let entries = try pending.compactMap { try outbox.entry(id: $0) } + open
        return entries.filter { $0.kind == .message && ChatMessage.State($0.state) != states[$0.id] }
            .sorted { $0.id < $1.id }
    }
}
