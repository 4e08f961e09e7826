import Basics
import Runs
import Store

/// The messages that the stream may lack after a break: a start of Ladle, a lost link, or lost frames. It says which sessions have to be
/// read then, from which place on, and which messages of a page are to be published.
struct MissedMessages: Sendable {
    /// The most sessions that are read at once after a break.
    static let mostRead = 16
    /// The rows that are read of each.
    static let rows = 60
    /// All messages that these pages can show: a forgotten one would be published twice.
    static let mostMessages = mostRead * rows
    /// The most ended runs whose transcript is read later; each keeps its text of up to a megabyte in memory.
    private static let mostRuns = 16
    /// The longest time from a run's end to the publication of its messages: a busy gateway takes long to return the transcript.
    private static let lookMilliseconds: Int64 = 60_000
    /// The longest time for which a link may have been silent before it counts as lost.
    private static let silenceMilliseconds: Int64 = 120_000

    /// Runs whose answers are to be looked for.
    struct Unanswered: Sendable {
        /// Runs that ended shortly before the earlier process, without an answer in their session since, oldest first. Each with the
        /// last answer on the stream when it was looked for first.
        var ofEarlierProcess: [(run: Run, place: MessageCursor?)] = []
        /// Runs that ended while no transcript could be read, oldest first.
        var ended: [Run] = []
    }

    private var unanswered = Unanswered()
    /// The places behind which sessions have messages that are not published yet.
    private var places: [SessionKey: MessageCursor] = [:]
    /// Sessions whose missed messages are being read, and whether to read them once more.
    private var reading: [SessionKey: Bool] = [:]
    /// The sessions with events since `begun`, those with the newest events first.
    private var sessions: [SessionKey] = []
    /// All messages published since this time are known; earlier ones may have been forgotten.
    private var begun: Timestamp?
    /// In a session without recent events, messages from after this time count as missed. At first the time of the log's last event,
    /// then that of the last loss of the link; nil for a new log before the first link.
    private var start: Timestamp?
    /// Sessions that changed since `start` may not have been found yet.
    private var hasGap = false
    /// The gateway has been asked which sessions changed since `start`. A break meanwhile is a gap of its own.
    private var isSearching = false
    /// Whether these times are on the gateway's clock; until the first link they are on ours.
    private var isAligned = false

    init() {}

    /// The break between an earlier process of Ladle and this one.
    /// - Parameters:
    ///   - first: the number of the event from which on all published messages are known.
    ///   - end: the time of the last event.
    init(_ tables: StoreTables, from first: Int64, to end: Timestamp) throws {
        start = end
        hasGap = true
        begun = try tables.events.time(from: first)
        sessions = try tables.events.sessions(from: first, limit: Self.mostMessages)
        let ended = try tables.runs.unanswered(since: end.adding(milliseconds: -Self.lookMilliseconds))
        unanswered.ofEarlierProcess = ended.map { ($0, nil) }
    }

    // MARK: The break

    mutating func linkLost(gatewayTime: Timestamp) {
        guard let start else { return }
        if !isOpenGap { self.start = max(start, gatewayTime.adding(milliseconds: -Self.silenceMilliseconds)) }
        hasGap = true
    }

    /// Called when a link opens, before messages are looked for. The times in the log are moved to the gateway's clock
    /// once: a later step of our own clock does not change them.
    /// - Returns: false if no process has followed this gateway before, so that nothing can be missed.
    mutating func linkOpened(gatewayTime: Timestamp, clockSkewMs: Int64) -> Bool {
        let isFirst = start == nil
        guard !isAligned else { return !isFirst }
        isAligned = true
        start = start?.adding(milliseconds: clockSkewMs) ?? gatewayTime
        begun = begun?.adding(milliseconds: clockSkewMs)
        return !isFirst
    }

    /// Whether sessions that changed during a break are still to be found.
    private var isOpenGap: Bool { hasGap || isSearching }

    /// Whether something was missed that is still to be read.
    var isOpen: Bool {
        isOpenGap || !places.isEmpty || !unanswered.ofEarlierProcess.isEmpty || !unanswered.ended.isEmpty
    }

    mutating func takeUnanswered() -> Unanswered {
        defer { unanswered = Unanswered() }
        return unanswered
    }

    /// The run has ended, and its transcript could not be read.
    mutating func missEnd(of run: Run, _ said: PublishedMessages) {
        miss(run.session, said)
        if unanswered.ended.count == Self.mostRuns { unanswered.ended.removeFirst() }
        unanswered.ended.append(run)
    }

    /// A run's end is about to be published. Before it is known which sessions changed during the break, its own may be one.
    mutating func runEnded(in session: SessionKey, _ said: PublishedMessages) {
        if isOpenGap { miss(session, said) }
    }

    /// The transcript with the answer to a run of the earlier process could not be read.
    mutating func missAnswer(to run: Run, behind place: MessageCursor) {
        unanswered.ofEarlierProcess.append((run, place))
    }

    // MARK: Sessions

    /// Notes the sessions in which messages may have been missed.
    /// - Returns: the sessions to read now.
    mutating func toRead(
        recent: [SessionKey],
        waiting: [SessionKey],
        _ said: PublishedMessages
    ) -> [SessionKey] {
        var seen: Set<SessionKey> = []
        let first = (recent + waiting + sessions).filter { seen.insert($0).inserted }.prefix(Self.mostRead)
        for session in waiting + first { miss(session, said) }
        return Array(first)
    }

    /// Notes that messages of some session may have been missed.
    mutating func missSomewhere() { hasGap = start != nil }

    /// Notes that messages of the session may have been missed, from the last one on the stream on.
    mutating func miss(_ session: SessionKey, _ said: PublishedMessages) {
        miss(session, behind: place(in: session, said))
    }

    /// Notes that messages of the session may have been missed behind this place.
    mutating func miss(_ session: SessionKey, behind place: MessageCursor?) {
        guard let place, places[session].map({ place.at < $0.at }) ?? true else { return }
        places[session] = place
    }

    /// The place up to which the stream has the session's transcript.
    func place(in session: SessionKey, _ said: PublishedMessages) -> MessageCursor? {
        if let answer = said.answer(in: session) { return answer }
        return (sessions.contains(session) ? begun : start).map { MessageCursor(at: $0, id: "") }
    }

    /// The place behind which the session has messages that are not published yet; nil if it has none.
    func place(of session: SessionKey) -> MessageCursor? { places[session] }

    /// The sessions with messages that are still to be published, and of which no page is asked for, those with the newest first.
    func unread() -> [SessionKey] {
        places.filter { reading[$0.key] == nil }
            .sorted { ($1.value.at, $0.key.text) < ($0.value.at, $1.key.text) }
            .map(\.key)
    }

    /// Begins to look for the sessions that changed during the break, if that is not done or under way.
    /// - Returns: the minutes since the break.
    mutating func beginSearch(gatewayTime: Timestamp) -> Int? {
        guard hasGap, !isSearching, let start else { return nil }
        (hasGap, isSearching) = (false, true)
        return Int(max((gatewayTime.milliseconds - start.milliseconds) / 60_000 + 2, 1))
    }

    /// The gateway did not tell.
    mutating func searchFailed() { (hasGap, isSearching) = (true, false) }

    /// Notes the sessions that changed since the break.
    /// - Parameters:
    ///   - listed: the gateway's sessions, each with the time of its last change.
    ///   - others: the sessions that are read already.
    ///   - said: what the stream had when the link opened.
    /// - Returns: the sessions to read now, too.
    mutating func found(
        _ listed: [(session: SessionKey, updatedAt: Int64?)],
        besides others: [SessionKey],
        _ said: PublishedMessages
    ) -> [SessionKey] {
        isSearching = false
        guard let start else { return [] }
        var seen = Set(others)
        let changed = listed.filter { $0.updatedAt.map { $0 >= start.milliseconds } ?? false }.map(\.session)
            .filter { seen.insert($0).inserted }
        for session in changed { miss(session, said) }
        return Array(changed.prefix(max(0, Self.mostRead - others.count)))
    }

    // MARK: Pages

    /// Whether a page of the session is to be asked for now. If one is under way, another one follows it.
    mutating func beginReading(_ session: SessionKey) -> Bool {
        guard places[session] != nil else { return false }
        let isFirst = reading[session] == nil
        reading[session] = !isFirst
        return isFirst
    }

    /// - Returns: whether the session is to be read once more.
    mutating func endReading(_ session: SessionKey) -> Bool { reading.removeValue(forKey: session) ?? false }

    /// The missed messages of a page that can be published now. Messages behind a run in progress wait for its end, so that their order
    /// stays.
    /// - Parameter open: the messages behind the page's last question, if they may still be added to. Where they belong to no run that
    ///   is followed, nothing but a later page publishes them.
    mutating func take(
        from page: ArraySlice<ChatMessage>,
        open: ArraySlice<ChatMessage> = [],
        of session: SessionKey,
        _ said: PublishedMessages,
        isUnderWay: (ChatMessage) -> Bool
    ) -> ArraySlice<ChatMessage> {
        guard let place = places[session] else { return [] }
        let unsaid = said.unsaid(Self.messages(page, after: place))
        let ready = unsaid.prefix { !isUnderWay($0) }
        if unsaid.dropFirst(ready.count).allSatisfy(isUnderWay), said.unsaid(open).allSatisfy(isUnderWay) {
            places[session] = nil
        } else if let last = ready.last {
            places[session] = MessageCursor(last)
        }
        return ready
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
}
