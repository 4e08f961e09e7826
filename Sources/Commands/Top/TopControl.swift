import JSONBytes
import ReadableText

/// Something that a key asks for and the server does.
enum TopAction {
    case quit
    case decide(String, JSONValue)
    case answer(JSONValue, part: String, label: String)
    case stop(TopModel.Run)
    /// Reads the text of a run that is opened.
    case read(String)
}

/// The keys of `ladle top`, and the part of the state that they move. A key that changes something is asked about first, and
/// done after a `y`.
struct TopControl {
    struct Question {
        let text: String
        let action: TopAction
        let item: TopItem
        let askedAt: Int64
    }

    /// A `y` typed before the question could be read is no answer.
    private static let readingMilliseconds: Int64 = 400
    private static let page = 10

    var model = TopModel() { didSet { settle() } }
    /// Of the terminal.
    private(set) var columns = 80
    private(set) var rows = 24
    private(set) var selected: TopItem?
    /// The row whose details fill the screen.
    private(set) var shown: TopItem?
    /// The first line of the details that is on the screen.
    private(set) var offset = 0
    private(set) var question: Question?
    /// A word about the last key, until the next one.
    private(set) var note: String?
    /// The text of the run that was opened.
    private(set) var text: (run: String, lines: String)?
    var time = ReadableTime(now: 0)
    /// The place of the selected row, for when it goes, and its session.
    private var place = 0
    private var session: String?

    // MARK: From outside

    mutating func resize(columns: Int, rows: Int) {
        (self.columns, self.rows) = (max(40, columns), max(6, rows))
        settle()
    }

    mutating func tell(_ note: String?) { self.note = note }

    /// Shows the text of a run that has been read.
    mutating func show(_ lines: String, ofRun run: String) { text = (run, lines) }

    var details: [String] {
        shown.map { TopDetails($0, model, time, text).lines(width: columns) } ?? []
    }

    /// Whether the end of the details is on the screen.
    private var seesEnd: Bool { offset + TopScreen.detailRows(rows) >= details.count }

    /// Keeps a choice valid whose row has gone.
    private mutating func settle() {
        let items = model.items
        if let chosen = selected, let index = items.firstIndex(of: chosen) {
            place = index
        } else if let session, let row = model.sessionRows.first(where: { $0.key == session }) {
            select(row.item)
        } else {
            select(items.isEmpty ? nil : items[min(place, items.count - 1)])
        }
        if let asked = question, !exists(asked.item) { (question, note) = (nil, "It is over: nothing was done.") }
        if let shown, !exists(shown) { (self.shown, offset, note) = (nil, 0, note ?? "It is over.") }
        if shown != nil { offset = min(offset, max(0, details.count - TopScreen.detailRows(rows))) }
    }

    private func exists(_ item: TopItem) -> Bool {
        switch item {
        case .approval(let name): model.approval(name) != nil
        case .question(let id): model.question(id) != nil
        case .run(let id): model.run(id) != nil
        case .session(let key): model.session(key) != nil || model.runs.contains { $0.session == key }
        case .entry(let id): model.entry(id) != nil
        }
    }

    private mutating func select(_ item: TopItem?) {
        selected = item
        place = item.flatMap { model.items.firstIndex(of: $0) } ?? 0
        session =
            switch item {
            case .run(let id): model.run(id)?.session
            case .session(let key): key
            default: nil
            }
    }

    // MARK: Keys

    mutating func press(_ key: TopKey, at now: Int64) -> TopAction? {
        note = nil
        if let asked = question { return settle(asked, key, now) }
        if case .letter(let letter) = key { return press(letter, now) }
        guard shown == nil else {
            if key == .escape { close() } else { scroll(key) }
            return nil
        }
        switch key {
        case .up: move(to: place - 1)
        case .down: move(to: place + 1)
        case .pageUp: move(to: place - Self.page)
        case .pageDown: move(to: place + Self.page)
        case .home: move(to: 0)
        case .end: move(to: .max)
        case .enter: return open()
        case .escape, .letter: break
        }
        return nil
    }

    private mutating func settle(_ asked: Question, _ key: TopKey, _ now: Int64) -> TopAction? {
        switch key {
        case .letter("y"):
            guard now - asked.askedAt >= Self.readingMilliseconds else { return nil }
            question = nil
            return asked.action
        case .up, .down, .pageUp, .pageDown:
            scroll(key)
        default:
            question = nil
            note = "Nothing was done."
        }
        return nil
    }

    private mutating func press(_ letter: Character, _ now: Int64) -> TopAction? {
        if letter == "q" {
            guard shown != nil else { return .quit }
            close()
            return nil
        }
        guard let item = shown ?? selected else { return nil }
        switch (letter, item) {
        case ("o", _) where shown == nil: return open()
        case ("a", .approval(let name)): if let one = model.approval(name) { decide("allow-once", one, item, now) }
        case ("d", .approval(let name)): if let one = model.approval(name) { decide("deny", one, item, now) }
        case ("x", _): if let run = model.run(of: item) { askToStop(run, now) }
        case (_, .question(let id)): if let one = model.question(id) { choose(letter, one, item, now) }
        default: break
        }
        return nil
    }

    private mutating func decide(_ decision: String, _ approval: JSONValue, _ item: TopItem, _ now: Int64) {
        show(item)
        let allows = decision != "deny"
        guard !allows || ApprovalText.offers(decision, approval) else {
            note = "It can only be denied."
            return
        }
        // Nobody should allow something they do not see.
        guard !allows || seesEnd else {
            note = "Read it to its end first, then press a."
            return
        }
        ask(allows ? "Allow it once?" : "Deny it?", .decide(decision, approval), item, now)
    }

    private mutating func askToStop(_ run: TopModel.Run, _ now: Int64) {
        // A row that shows a session stands for its run.
        ask("Stop the run in \(TopText.line(run.session))?", .stop(run), .run(run.id), now)
    }

    /// The options of a question have numbers where it asks one thing and hides nothing.
    private mutating func choose(_ letter: Character, _ asked: JSONValue, _ item: TopItem, _ now: Int64) {
        guard let part = TopDetails.part(of: asked), let id = part["id"]?.string, let number = letter.wholeNumberValue,
            number > 0
        else { return }
        let labels = part["options"].list.compactMap { $0["label"]?.string }
        guard number <= labels.count else { return }
        show(item)
        let label = labels[number - 1]
        guard seesEnd else {
            note = "Read it to its end first, then press \(number)."
            return
        }
        ask("Answer: \(TopText.line(label))?", .answer(asked, part: id, label: label), item, now)
    }

    private mutating func ask(_ text: String, _ action: TopAction, _ item: TopItem, _ now: Int64) {
        question = Question(text: text, action: action, item: item, askedAt: now)
    }

    // MARK: Moving

    private mutating func move(to index: Int) {
        let items = model.items
        guard !items.isEmpty else { return }
        select(items[min(max(0, index), items.count - 1)])
    }

    private mutating func open() -> TopAction? {
        guard let item = selected else { return nil }
        show(item)
        return model.run(of: item).map { .read($0.id) }
    }

    private mutating func show(_ item: TopItem) {
        if shown != item { (shown, offset) = (item, 0) }
    }

    private mutating func close() { (shown, offset) = (nil, 0) }

    private mutating func scroll(_ key: TopKey) {
        guard shown != nil else { return }
        let page = TopScreen.detailRows(rows)
        let last = max(0, details.count - page)
        switch key {
        case .up: offset -= 1
        case .down: offset += 1
        case .pageUp: offset -= page - 1
        case .pageDown: offset += page - 1
        case .home: offset = 0
        case .end: offset = last
        case .enter, .escape, .letter: break
        }
        offset = min(max(0, offset), last)
    }
}
