package import Basics
package import Gateway

/// Says whose each row of a transcript is: the one answer for the runs, for the search that settles doubt about a message, and for the
/// message list.
///
/// A turn that may own rows is a `Claimant`. The rules are tried in the order of the table; an earlier one is stronger. A row goes to one
/// turn at most, and what a stronger rule gave away no weaker one claims. Where words alone decide, and more turns may own a row than there
/// are such rows, the row is `shared`: it goes to none of them, and shows that none of them is missing.
///
/// A row whose run is known, as one that was told with its run, stays that run's: no rule gives it to a turn with another run. Nor is a row
/// that was on the stream before a message was sent that message's, whatever its words.
///
/// | rule | tie | needed by |
/// |---|---|---|
/// | `ownKey` | certain | 2026.6.11 for users' rows; all releases for the text of a stopped run |
/// | `maskedKey` | certain | 2026.6.11 hides what it takes for a secret, also inside keys |
/// | `toolCall` | certain | 2026.3.1, which writes no keys: recording gateway-kill-in-tool |
/// | `start` | certain | 2026.3.1 and 2026.4.26: a user's row has the time of its run's start |
/// | `words` | likely | 2026.3.1 (gateway-kill-after-ack, two-lines; seen live on a starved machine: the row is 203 ms older than the start), 2026.4.26, seen live also of a message that waited and was answered while the link was away; 2026.6.11 where it goes on with a turn and takes its key |
/// | `triedAgain` | likely | 2026.4.26, seen live: a link opens between the tries of another client's run, and the next try has a start of its own |
/// | `seenAtWork` | likely | recording client-restart-midrun: a run that was first seen at work has the last message before; 2026.3.1, seen live: so has one that an earlier process of Ladle saw at work, if the answer has the text that was seen |
/// | `openTurn` | likely | client-restart-longtool: rows that come alone belong to the run that was at work, above all to that of the transcript's last turn; 2026.6.11, seen live: a row that comes as an event may be older than the first event of a run whose start was missed |
/// | `mayBe` | shared | cut and omitted texts (long-answer), masked keys and words, rows without a time |
package struct Attribution: Sendable {
    private static let rules: [Rule] = [
        // A run that is tried again repeats its user's row, so it may have several.
        Rule("ownKey", .certain, of: .everyRow) { turn, row, _ in row.names.contains(where: turn.owns) ? .each : nil },
        Rule("maskedKey", .certain, of: .everyRow) { turn, row, _ in
            turn.mayHave(row.mask) && row.shows(turn) ? .each : nil
        },
        Rule("toolCall", .certain, of: .rowsWithoutKey) { turn, row, _ in
            row.calls.contains(where: turn.calls) ? .near(-turn.newest) : nil
        },
        Rule("start", .certain, of: .usersRows, unless: .hasKey) { turn, row, _ in turn.start(of: row) },
        Rule("words", .likely, of: .usersRows, unless: .hasRow) { turn, row, page in
            guard row.shows(turn), turn.mayHaveWritten(row), row.mayLackKey || !page.showsKeys else { return nil }
            return turn.sent(before: row)
        },
        Rule("triedAgain", .likely, of: .usersRows, unless: .hasRow) { turn, row, _ in
            turn.words == nil && turn.starts.contains(where: row.hasTry(at:)) ? .once : nil
        },
        Rule("seenAtWork", .likely, of: .usersRows, unless: .hasRow) { turn, row, page in
            guard let seen = turn.seenAt, turn.words == nil, turn.said.map(row.says) ?? true else { return nil }
            return page.lastUsersRow(in: .row(seenAt: seen)) == row.place ? .once : nil
        },
        Rule("openTurn", .likely, of: .beginning) { turn, row, _ in
            if turn.isLast { return .near(.min) }
            return turn.wasAtWork(row) ? .near(-turn.newest) : nil
        },
        Rule("mayBe", nil, of: .everyRow, unless: .hasRow) { turn, row, _ in
            guard turn.mayHaveWritten(row) || row.at == nil else { return nil }
            let mayShow = row.isUser && !row.isNamed && row.mayShow(turn)
            return mayShow || turn.mayHave(row.mask) ? .each : nil
        },
    ]

    /// Rows that have an owner, by their place.
    package private(set) var owners: [Int: (turn: String, tie: Tie)] = [:]
    /// Rows without an owner, each with the turns to which it may belong, in the order in which these were sent.
    package private(set) var shared: [Int: [String]] = [:]

    // MARK: Rows

    /// A row of the transcript, or a user's row with the rows behind it.
    package struct Row: Sendable {
        /// The id under which the row's message may be on the stream.
        package var id: String?
        /// The keys and ids under which the row's turn is known.
        package var names: [String]
        /// The gateway wrote a key into the row, so it is that turn's and no other's.
        package var isNamed: Bool
        package var mask: MaskedKey?
        /// A user's row. Without one, these rows are the later part of a turn.
        package var isUser: Bool
        package var words: [Words]
        package var at: Timestamp?
        /// Ids of tool calls.
        package var calls: [String]
        /// A restarted gateway wrote the row in place of the user's own, and repeats the user's words.
        package var isResumption: Bool
        /// The run at work that read the row's message, which has none of its own.
        package var joinedRun: String?
        /// Whether the rows behind a user's row begin with this text.
        package var says: @Sendable (String) -> Bool = { _ in false }
        /// The time of the first error behind a user's row, and of the last row.
        package var tries: ClosedRange<Timestamp>?
        /// The run of the row, if it is known: the stream told it, or its events were seen.
        package var run: String?
        fileprivate var place = 0

        package init(
            names: [String] = [],
            isNamed: Bool? = nil,
            mask: MaskedKey? = nil,
            isUser: Bool = true,
            words: [Words] = [],
            at: Timestamp?,
            calls: [String] = [],
            isResumption: Bool = false
        ) {
            self.names = names
            self.isNamed = isNamed ?? !names.isEmpty
            self.mask = mask
            self.isUser = isUser
            self.words = words
            self.at = at
            self.calls = calls
            self.isResumption = isResumption
        }

        fileprivate var hasKey: Bool { isNamed || mask != nil }

        /// The row may be without a key although its turn has one: it replaces a row with a key, or joins several messages.
        fileprivate var mayLackKey: Bool { isResumption || words.count > 1 }

        /// A row alone, as the search for a message reads it.
        package init(_ row: TranscriptRow) {
            // The row's own key comes first: the named run may be the gateway's, which answers under an id of its own.
            let key = row.idempotencyKey ?? row.runKey
            let mask = key.flatMap { MaskedKey($0) }
            self.init(
                names: (mask == nil ? key.map { [TranscriptRow.bareKey($0)] } ?? [] : []) + row.joinedKeys,
                mask: row.role == .user ? mask : nil,
                isUser: row.role == .user,
                words: row.role == .user ? Words.messages(of: row) : [],
                at: row.time,
                isResumption: row.resumesTurn
            )
            joinedRun = row.joinedRun
        }

        /// Whether a run that began at this time is one more try of the turn: the gateway had written an error of it, and wrote more after it.
        fileprivate func hasTry(at start: Timestamp) -> Bool {
            tries.map { $0.lowerBound < start && start <= $0.upperBound } ?? false
        }

        fileprivate func shows(_ turn: Claimant) -> Bool {
            turn.words.map { own in words.contains { $0.show(own) } } ?? false
        }

        fileprivate func mayShow(_ turn: Claimant) -> Bool {
            turn.words.map { own in words.contains { $0.mayShow(own) } } ?? false
        }
    }

    // MARK: Turns

    /// A turn that may own rows.
    package struct Claimant: Sendable {
        package let id: String
        /// The keys with which we sent the message.
        package var keys: [String]
        package var owns: @Sendable (String) -> Bool
        /// The run of the turn, if it is on the stream. A row of another run is not this turn's.
        package var run: String?
        /// Nil for a turn of another client, whose words are not known.
        package var words: Words?
        /// The time in which the gateway can have written the turn's row, by its clock. Nil if the turn may not claim a row by its
        /// words alone.
        package var written: ClockWindow?
        /// When the row was written in place of which a restarted gateway writes one without key. `never` if that row begins another run.
        package var resumed: ClockWindow?
        /// The reported starts of the run.
        package var starts: [Timestamp] = []
        /// When the run was first seen, if its start was missed.
        package var seenAt: Timestamp?
        /// The text that the run was seen to write, where it is not known whether its start was missed.
        package var said: String?
        package var sentAt: Timestamp?
        /// Messages that were on the stream before this one was sent, as far as their rows may have its words.
        package var earlier: Set<String> = []
        package var endedAt: Timestamp?
        /// The run is at work, and the last user's row before these rows is its.
        package var isLast = false
        package var calls: @Sendable (String) -> Bool = { _ in false }

        package init(
            _ id: String,
            keys: [String] = [],
            words: Words? = nil,
            written: ClockWindow? = nil,
            owns: (@Sendable (String) -> Bool)? = nil
        ) {
            self.id = id
            self.keys = keys
            self.words = words
            self.written = written
            self.owns = owns ?? { $0 == id || keys.contains($0) }
        }

        /// The newest start, for the choice between runs that were at work.
        fileprivate var newest: Int64 { (starts.last ?? seenAt ?? sentAt)?.milliseconds ?? 0 }

        fileprivate func mayHave(_ mask: MaskedKey?) -> Bool {
            guard let mask else { return false }
            return keys.contains { mask.agrees(with: $0) || mask.agrees(with: $0 + ":user") }
        }

        fileprivate func mayOwn(_ row: Row) -> Bool {
            if let id = row.id, earlier.contains(id) { return false }
            // A row whose masked key fits none of the turn's keys belongs to another turn.
            guard row.mask == nil || keys.isEmpty || mayHave(row.mask) else { return false }
            // The run that goes on with this one begins with a row that repeats the words.
            guard let run, let known = row.run, !row.isNamed, !row.isResumption else { return true }
            return run == known || owns(known)
        }

        fileprivate func mayHaveWritten(_ row: Row) -> Bool {
            guard let at = row.at, let window = row.isResumption ? resumed ?? written : written else { return false }
            return window.contains(at)
        }

        /// A row that shows our message may lie up to 100 ms from the start. Another row may lie only 2 ms from it, because another
        /// run may have begun in the same moment.
        fileprivate func start(of row: Row) -> Claim? {
            guard let at = row.at else { return nil }
            let isOwn = words?.isEmpty ?? true || row.shows(self)
            let near = starts.enumerated().filter { _, start in
                (isOwn ? ClockWindow.row(startedAt: start) : .onlyRow(startedAt: start)).contains(at)
            }
            return near.map { Claim(mark: $0.offset, distance: abs(at.milliseconds - $0.element.milliseconds)) }
                .min { $0.distance < $1.distance }
        }

        /// A row that seems older than the message is more likely that of an earlier one with the same words.
        fileprivate func sent(before row: Row) -> Claim {
            guard let sentAt, let at = row.at, !ClockWindow.row(sentAt: sentAt).contains(at) else { return .once }
            return Claim(mark: 0, distance: sentAt.milliseconds - at.milliseconds)
        }

        fileprivate func wasAtWork(_ row: Row) -> Bool {
            guard let at = row.at, let start = starts.first ?? seenAt else { return false }
            return start <= at && endedAt.map { at <= $0 } ?? true
        }
    }

    // MARK: Rules

    /// How a turn claims a row.
    fileprivate struct Claim {
        /// The ground of the claim: the number of one of the turn's starts, 0 for its words, or nil for the row itself. A turn gets
        /// one row for each number.
        var mark: Int?
        /// The nearest claim goes first.
        var distance: Int64 = 0

        static let each = Claim()
        static let once = Claim(mark: 0)
        static func near(_ distance: Int64) -> Claim { Claim(distance: distance) }
    }

    private struct Rule: Sendable {
        enum Rows { case everyRow, rowsWithoutKey, usersRows, beginning }
        /// A turn with such a row needs no weaker rule.
        enum Proof { case hasKey, hasRow }

        let name: String
        /// How sure the rule is. Nil if it gives no row away, and only notes that a row may be the turn's.
        let tie: Tie?
        let rows: Rows
        let proof: Proof?
        let claim: @Sendable (Claimant, Row, Page) -> Claim?

        init(
            _ name: String,
            _ tie: Tie?,
            of rows: Rows,
            unless proof: Proof? = nil,
            claim: @escaping @Sendable (Claimant, Row, Page) -> Claim?
        ) {
            (self.name, self.tie, self.rows, self.proof, self.claim) = (name, tie, rows, proof, claim)
        }

        /// Whether a turn that already owns this row is left out of this rule.
        func isProof(_ row: Row) -> Bool {
            switch proof {
            case .hasKey?: row.isUser && row.hasKey
            case .hasRow?: true
            case nil: false
            }
        }

        func isAbout(_ row: Row, _ page: Page) -> Bool {
            switch rows {
            case .everyRow: true
            case .rowsWithoutKey: !row.isNamed
            case .usersRows: !row.isNamed && row.isUser
            case .beginning: !row.isNamed && !row.isUser && row.place == 0 && page.beginsInside
            }
        }
    }

    private struct Page: Sendable {
        let rows: [Row]
        let beginsInside: Bool
        /// The gateway writes keys, so a row without one is another channel's, or was written before it did.
        let showsKeys: Bool

        func lastUsersRow(in window: ClockWindow) -> Int? {
            rows.last { $0.isUser && $0.at.map { window.contains($0) } ?? false }?.place
        }
    }

    // MARK: Giving rows away

    /// - Parameters:
    ///   - rows: oldest first.
    ///   - turns: in the order in which they were sent.
    ///   - beginsInside: the first rows may be the later part of a turn.
    ///   - isQueue: the gateway has the messages in a queue and answers them in their order, so the first of equal ones owns a row.
    package init(
        _ rows: [Row],
        _ turns: [Claimant],
        beginsInside: Bool = false,
        isQueue: Bool = false
    ) {
        let placed = rows.enumerated().map { place, row in
            var row = row
            row.place = place
            return row
        }
        let page = Page(
            rows: placed,
            beginsInside: beginsInside,
            showsKeys: rows.contains { $0.isUser && $0.hasKey }
        )
        for rule in Self.rules {
            let proven = Set(owners.lazy.filter { rule.isProof(placed[$0.key]) }.map(\.value.turn))
            apply(rule, to: page, turns.filter { !proven.contains($0.id) }, isQueue: isQueue)
        }
    }

    private mutating func apply(_ rule: Rule, to page: Page, _ turns: [Claimant], isQueue: Bool) {
        let free = page.rows.filter { owners[$0.place] == nil && rule.isAbout($0, page) }
        var claims: [(turn: Claimant, place: Int, claim: Claim)] = []
        for turn in turns {
            for row in free where turn.mayOwn(row) {
                if let claim = rule.claim(turn, row, page) { claims.append((turn, row.place, claim)) }
            }
        }
        guard let tie = rule.tie else {
            for (turn, place, _) in claims where shared[place]?.contains(turn.id) != true {
                shared[place, default: []].append(turn.id)
            }
            return
        }
        var used: [String: Set<Int>] = [:]
        var given: [Int: (turn: String, distance: Int64)] = [:]
        // Equal claims stay in the order in which the turns were sent.
        let nearest = claims.enumerated().sorted { ($0.1.claim.distance, $0.0) < ($1.1.claim.distance, $1.0) }
        for (turn, place, claim) in nearest.lazy.map(\.element) where given[place] == nil {
            if let mark = claim.mark, !used[turn.id, default: []].insert(mark).inserted { continue }
            given[place] = (turn.id, claim.distance)
        }
        if tie == .likely, !isQueue { share(&given, claims.map { ($0.turn.id, $0.place, $0.claim.distance) }) }
        for (place, claim) in given { owners[place] = (claim.turn, tie) }
    }

    /// Takes rows back that another turn may own just as well, because there are fewer rows than turns.
    private mutating func share(
        _ given: inout [Int: (turn: String, distance: Int64)],
        _ claims: [(turn: String, place: Int, distance: Int64)]
    ) {
        let satisfied = Set(given.values.map(\.turn))
        let before = given
        for (turn, place, distance) in claims where !satisfied.contains(turn) {
            guard let owner = before[place], owner.distance == distance else { continue }
            given[place] = nil
            shared[place, default: [owner.turn]].append(turn)
        }
    }
}
