package import Basics
package import Gateway
package import Ledger

/// The approvals or the questions that wait at the gateway, and those that ended recently, by id. Events, lists and answers go in.
/// Each item comes out twice, when it is asked for and when it ends. The register does no I/O and has no clock: times are the
/// gateway's.
///
/// If nothing shows how an item ended, its state is `unknown`.
package struct WaitingRegister<Item: WaitingItem>: Sendable {
    /// Tells two items with the same id apart: a gateway may use an id again.
    package struct Identity: Sendable, Hashable {
        let id: String
        let createdAt: Timestamp
        let content: Item.Content
    }

    /// A choice of ours that was sent.
    package struct Attempt: Sendable {
        let number: Int
        let choice: Item.Choice
        let sender: String
        /// The gateway's answer was lost, so the choice may have arrived.
        fileprivate(set) var isLost = false
    }

    /// How an item ended.
    package struct End: Sendable, Equatable {
        let state: Item.State
        let choice: Item.Choice?
        /// The person or client that chose, or `timeout`.
        let name: String?
        let time: Timestamp
        let via: Approval.Via?

        init(
            _ state: Item.State,
            _ choice: Item.Choice? = nil,
            by name: String? = nil,
            at time: Timestamp,
            via: Approval.Via? = nil
        ) {
            self.state = state
            self.choice = choice
            self.name = name
            self.time = time
            self.via = via
        }

        static func timeout(at time: Timestamp) -> End { End(.expired, by: "timeout", at: time) }
    }

    private struct Record {
        var item: Item
        /// Ladle cannot have missed anything about the item since it was last reported.
        var isCertain: Bool
        /// The number of the last list that was asked for before the item was reported. Later lists have to show it.
        var seen: Int
        /// Our choice that has no answer yet.
        var attempt: Attempt?
        /// Choices that got no answer. One of them may have arrived.
        var lost: [Attempt] = []
        /// How many lists had been asked for when the last choice was lost.
        var lostAt = 0
        /// How many lists had been asked for when the item's run ended.
        var runEndedAt: Int?
        /// The item was certainly waiting when the gateway announced its stop.
        var wasWaitingAtShutdown = false
        /// When to look whether the item's time is over.
        var lookAt: Timestamp
        /// A list was asked for because the item's time should be over.
        var isAsked = false
        /// A list showed the item after its time.
        var waitsLonger = false

        init(_ item: Item, isCertain: Bool, seen: Int) {
            self.item = item
            self.isCertain = isCertain
            self.seen = seen
            lookAt = item.expiresAt.adding(milliseconds: WaitingLimits.graceMs)
        }

        /// The gateway reports again that the item waits.
        mutating func waitsStill(_ again: Item, in list: Int, now: Timestamp) {
            isCertain = true
            seen = list
            if again.isEndReported || item.expiresAt <= now { item.expiresAt = again.expiresAt }
            item.isEndReported = again.isEndReported
            isAsked = false
            lookAt = item.expiresAt.adding(milliseconds: WaitingLimits.graceMs)
            guard lookAt <= now else { return }
            waitsLonger = true
            lookAt = now.adding(milliseconds: WaitingLimits.againMs)
        }

        /// If the item has ended, its time was over: Ladle missed no choice of others, and lost none of its own.
        var endsWithItsTime: Bool { isCertain && item.isEndReported && lost.isEmpty && !waitsLonger }
    }

    /// The result of a choice before anything is sent.
    package enum Start: Sendable, Equatable {
        case notFound
        case ended(Item)
        case tooLate(Item)
        case notOffered(Item)
        /// Another choice of ours has no answer yet.
        case underWay(Item)
        case send(Item, attempt: Int)
    }

    /// The gateway's answer to a choice.
    package enum Answer: Sendable, Equatable {
        case accepted
        case refused(WaitingRefusal)
        /// The item had ended before, and the gateway says how.
        case ended(End)
        /// The choice had no effect, and the item still waits.
        case nothing
        /// The answer was lost, so the choice may have arrived.
        case lost
    }

    private var records: [String: Record] = [:]
    /// Ids of ended items, the oldest first.
    private var ended: [String] = []
    /// Items that ended before these, by id, and their ids, the oldest first.
    private var past: [String: Identity] = [:]
    private var pastIDs: [String] = []
    private var lists = 0
    private var attempts = 0
    private var isStopping = false
    private var wantsList = false
    /// The gateway has more waiting items than the register takes.
    package private(set) var isOverfull = false

    package init() {}

    // MARK: Reading

    package subscript(id: String) -> Item? { records[id]?.item }

    /// The waiting and the recently ended items, the oldest first.
    package var all: [Item] { sorted(Array(records.values)).map(\.item) }

    /// The waiting items, the oldest first.
    package var pending: [Item] { waiting.map(\.item) }

    /// Items that ended a short time ago.
    package var recent: [Item] { ended.compactMap { records[$0]?.item } }

    /// When `tick` has something to do.
    package var nextEnd: Timestamp? {
        records.values.filter { $0.item.isPending && $0.attempt == nil }.map(\.lookAt).min()
    }

    private var waiting: [Record] { sorted(records.values.filter(\.item.isPending)) }

    private func sorted(_ records: [Record]) -> [Record] {
        records.sorted { ($0.item.createdAt, $0.item.id) < ($1.item.createdAt, $1.item.id) }
    }

    /// Whether this item waits or has ended, as far as the register remembers.
    package func knows(_ id: String) -> Bool { records[id] != nil || past[id] != nil }

    // MARK: Asked for

    /// Takes the waiting and the ended items of an earlier process of Ladle. The waiting ones may have ended since.
    package mutating func restore(_ items: [Item], ended: [Identity] = []) {
        for identity in ended { forget(identity) }
        for item in items where item.isPending && records[item.id] == nil {
            records[item.id] = Record(item, isCertain: false, seen: lists)
        }
    }

    /// Takes a request. The same request may come as an event, in lists, and repeatedly.
    package mutating func requested(_ item: Item, now: Timestamp) -> [Item] {
        let id = item.id
        var news: [Item] = []
        if let known = records[id]?.item {
            guard item.differs(from: known) else {
                if known.isPending { records[id]?.waitsStill(item, in: lists, now: now) }
                return []
            }
            if known.isPending { news += end(id, End(.unknown, at: now)) }
            ended.removeAll { $0 == id }
            records[id] = nil
            forget(known.identity)
        } else if let known = past[id], known.content == item.content {
            if !item.isCreatedAtReported || known.createdAt == item.createdAt { return [] }
        }
        // The records that are not ended wait.
        guard records.count - ended.count < Item.limits.pending else {
            isOverfull = true
            return news
        }
        records[id] = Record(item, isCertain: true, seen: lists)
        return news + [item]
    }

    // MARK: Our choices

    /// - Parameter sender: the name of the caller that chooses.
    package mutating func start(_ choice: Item.Choice, of id: String, by sender: String, now: Timestamp) -> Start {
        guard let record = records[id] else { return .notFound }
        let item = record.item
        guard item.isPending else { return .ended(item) }
        guard item.offers(choice) else { return .notOffered(item) }
        if record.attempt != nil { return .underWay(item) }
        let last = item.expiresAt.adding(milliseconds: -WaitingLimits.marginMs)
        // Only an end that the gateway reported makes a choice too late.
        guard now < last || !item.isEndReported || record.waitsLonger else { return .tooLate(item) }
        attempts += 1
        records[id]?.attempt = Attempt(number: attempts, choice: choice, sender: sender)
        return .send(item, attempt: attempts)
    }

    /// Takes the gateway's answer to a choice.
    package mutating func answered(_ id: String, attempt number: Int, _ answer: Answer, now: Timestamp) -> [Item] {
        guard let record = records[id], var sent = record.attempt, sent.number == number else { return [] }
        records[id]?.attempt = nil
        switch answer {
        case .accepted:
            let state = Item.state(after: sent.choice)
            return end(id, End(state, sent.choice, by: sent.sender, at: now, via: .ladle))
        case .refused(.gone): return endMissing(id, at: now)
        case .refused(.resolved): return end(id, End(.unknown, at: now))
        case .refused(.runAborted): return end(id, End(.cancelled, at: now))
        case .refused(.alwaysUnavailable): records[id]?.item.withdraw(sent.choice)
        case .ended(let end): return self.end(id, end)
        case .nothing: break
        case .lost:
            sent.isLost = true
            let others = record.lost.filter { $0.choice != sent.choice }
            records[id]?.lost = (others + [sent]).suffix(Item.limits.lost)
            records[id]?.lostAt = lists
            records[id]?.isCertain = false
        }
        return []
    }

    // MARK: The link

    /// Ladle may miss ends of items from now on.
    package mutating func mayHaveMissed() {
        for (id, record) in records where record.item.isPending { records[id]?.isCertain = false }
    }

    /// The gateway announces its stop. Items that wait then end with its process.
    package mutating func gatewayStops() {
        for (id, record) in records { records[id]?.wasWaitingAtShutdown = record.isCertain }
        isStopping = true
    }

    /// - Parameter process: the gateway's process, measured by that of the last connection.
    /// - Parameter hasList: whether the gateway has a list of waiting items.
    package mutating func linkOpened(process: Continuity, hasList: Bool, now: Timestamp) -> [Item] {
        defer { isStopping = false }
        if process != .other || !isStopping {
            for id in records.keys { records[id]?.wasWaitingAtShutdown = false }
        }
        guard process == .other, !hasList else { return [] }
        // The process that is gone had its items in memory only.
        return waiting.flatMap { endMissing($0.item.id, at: now) }
    }

    /// Ends all items, because the gateway that is connected now has none.
    package mutating func endAll(now: Timestamp) -> [Item] {
        waiting.flatMap { end($0.item.id, End(.unknown, at: now)) }
    }

    // MARK: Lists

    /// Numbers a list that is asked for now. The caller gives the number again with the list.
    package mutating func askList() -> Int {
        lists += 1
        wantsList = false
        isOverfull = false
        return lists
    }

    /// Whether a list has to be asked for; true once for each reason.
    package mutating func takeListRequest() -> Bool {
        defer { wantsList = false }
        return wantsList
    }

    /// Takes the gateway's list of waiting items. An item that is missing from it has ended.
    /// - Parameters:
    ///   - unread: ids of rows that could not be read.
    ///   - has: whether the list has items of this kind.
    package mutating func listed(
        _ items: [Item],
        unread: Set<String> = [],
        asked number: Int,
        now: Timestamp,
        where has: (Item) -> Bool = { _ in true }
    ) -> [Item] {
        var news: [Item] = []
        let shown = unread.union(items.map(\.id))
        for id in missing(from: shown, asked: number, where: has) { news += endMissing(id, at: now) }
        for item in items {
            news += requested(item, now: now)
            guard let record = records[item.id] else { continue }
            // The item still waits, so a choice whose answer was lost did not arrive.
            if record.attempt == nil, record.lostAt < number { records[item.id]?.lost = [] }
            // The gateway keeps the item although the run has ended.
            if let end = record.runEndedAt, end < number { records[item.id]?.runEndedAt = nil }
        }
        return news
    }

    /// Ids of waiting items that are missing from a list.
    package func missing(from shown: Set<String>, asked number: Int, where has: (Item) -> Bool) -> [String] {
        records.values.filter {
            $0.item.isPending && has($0.item) && !shown.contains($0.item.id) && $0.seen < number && $0.attempt == nil
        }.map(\.item.id).sorted()
    }

    /// Ends an item that the gateway does not have any more.
    private mutating func endMissing(_ id: String, at now: Timestamp) -> [Item] {
        guard let record = records[id] else { return [] }
        let unknown = End(.unknown, at: now)
        guard record.lost.isEmpty else { return end(id, unknown) }
        if record.wasWaitingAtShutdown { return end(id, End(.cancelled, at: now)) }
        let (isTimeOver, isRunOver) = (record.item.isEnding(at: now), record.runEndedAt != nil)
        // Where both are over, either may have ended the item.
        switch (isTimeOver, isRunOver) {
        case (false, true) where record.isCertain: return end(id, End(.cancelled, at: now))
        case (true, false) where record.endsWithItsTime: return end(id, .timeout(at: record.item.expiresAt))
        default: return end(id, unknown)
        }
    }

    /// - Returns: whether an item of the run still waits. A list then shows whether the gateway keeps the item.
    package mutating func runEnded(_ run: String) -> Bool {
        let affected = waiting.filter { $0.item.runID == run }
        for record in affected { records[record.item.id]?.runEndedAt = lists }
        return !affected.isEmpty
    }

    // MARK: Ends

    /// Takes the gateway's report that an item has ended.
    /// - Parameter own: the name under which Ladle is connected.
    package mutating func resolved(_ report: Item.Report, own: String, now: Timestamp) -> [Item] {
        guard let id = report.id, let record = records[id], record.item.isPending else { return [] }
        let sent = record.lost + [record.attempt].compactMap(\.self)
        return record.item.end(told: report, after: sent, own: own, at: report.time ?? now).map { end(id, $0) } ?? []
    }

    /// Ends items whose time is over, except those about which a list is asked for first: our clock may be wrong. That an item's
    /// run has ended says nothing here, because a gateway may keep the item until its time.
    /// - Parameter canList: whether the gateway can be asked now for a list with this item.
    package mutating func tick(now: Timestamp, canList: (Item) -> Bool = { _ in false }) -> [Item] {
        overdue(now: now, canList: canList).flatMap { record in
            let item = record.item
            return end(item.id, record.endsWithItsTime ? .timeout(at: item.expiresAt) : End(.unknown, at: now))
        }
    }

    private mutating func overdue(now: Timestamp, canList: (Item) -> Bool) -> [Record] {
        waiting.filter { record in
            guard record.attempt == nil, now >= record.lookAt else { return false }
            guard !record.isAsked, canList(record.item) else { return true }
            records[record.item.id]?.isAsked = true
            records[record.item.id]?.lookAt = now.adding(milliseconds: WaitingLimits.askingMs)
            wantsList = true
            return false
        }
    }

    /// Ends an item that waits.
    package mutating func end(_ id: String, _ end: End) -> [Item] {
        guard var record = records[id], record.item.isPending else { return [] }
        record.item.end(end)
        record.attempt = nil
        record.lost = []
        records[id] = record
        ended.append(id)
        if ended.count > Item.limits.ended, let oldest = records.removeValue(forKey: ended.removeFirst()) {
            forget(oldest.item.identity)
        }
        return [record.item]
    }

    private mutating func forget(_ identity: Identity) {
        if past.updateValue(identity, forKey: identity.id) == nil { pastIDs.append(identity.id) }
        if pastIDs.count > Item.limits.past { past[pastIDs.removeFirst()] = nil }
    }
}
