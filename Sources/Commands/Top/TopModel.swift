import Basics
import JSONBytes

/// The state that `ladle top` shows: lists read once at the start of a stream, and the changes that its events bring.
struct TopModel {
    /// More rows than anybody scrolls through.
    private static let most = 200
    private static let mostSteps = 50

    struct Run {
        let id: String
        let session: String
        let startedAt: String?
        /// In the order in which they began.
        fileprivate(set) var steps: [JSONValue] = []
    }

    /// A list read at the start.
    enum List: String, CaseIterable {
        case approvals, questions, sessions, outbox, usage, cost
    }

    /// Whether the stream of events is open.
    private(set) var isConnected = false
    private(set) var version = ""
    private(set) var link: JSONValue?
    /// The active ones, oldest first.
    private(set) var runs: [Run] = []
    /// Sessions by key, the latest first.
    private(set) var sessions: [JSONValue] = []
    /// How the last run of a session ended that was seen here.
    private(set) var ends: [String: String] = [:]
    /// Pending ones, oldest first.
    private(set) var approvals: [JSONValue] = []
    private(set) var questions: [JSONValue] = []
    /// Entries on their way or failed, oldest first.
    private(set) var entries: [JSONValue] = []
    private(set) var usage: JSONValue?
    /// Tokens by day, the oldest first.
    private(set) var days: [Int64] = []

    /// Lists that could not be read: nobody knows what is in them.
    private(set) var unread: [List] = []

    // MARK: The start

    mutating func fail(_ list: List) {
        if !unread.contains(list) { unread.append(list) }
    }

    mutating func load(_ list: List, _ answer: JSONValue) {
        unread.removeAll { $0 == list }
        switch list {
        case .approvals: approvals = Array(answer["approvals"].list.prefix(Self.most).reversed())
        case .questions: questions = Array(answer["questions"].list.prefix(Self.most).reversed())
        case .sessions: sessions = Array(answer["sessions"].list.prefix(Self.most))
        case .outbox: entries = Array(answer["entries"].list.prefix(Self.most).reversed())
        case .usage: usage = answer
        case .cost: days = answer["days"].list.suffix(Self.most).map { max(0, $0["tokens"]?.int ?? 0) }
        }
    }

    mutating func disconnect() { isConnected = false }

    // MARK: Events

    mutating func take(_ event: JSONValue) {
        switch event["type"]?.string {
        case "hello":
            isConnected = true
            version = event.line("version") ?? ""
            link = event["link"]
            // The snapshot that follows brings the active ones.
            runs = []
        case "link": link = event["link"]
        case "run.started": if let run = event["run"] { begin(run) }
        case "run.step": if let step = event["step"] { take(step: step, of: event) }
        case "run.ended", "run.corrected": if let run = event["run"] { end(run) }
        case "approval":
            if let approval = event["approval"] { take(approval, into: \.approvals, isPending(approval)) }
        case "question":
            if let question = event["question"] { take(question, into: \.questions, isPending(question)) }
        case "outbox": if let entry = event["entry"] { take(entry: entry) }
        case "session": take(session: event)
        case "usage": if let report = event["usage"] { usage = report }
        default: break
        }
    }

    /// An approval or a question that was decided here; its event may come later.
    mutating func take(decided approval: JSONValue) { take(approval, into: \.approvals, isPending(approval)) }
    mutating func take(answered question: JSONValue) { take(question, into: \.questions, isPending(question)) }

    private func isPending(_ value: JSONValue) -> Bool { value["state"]?.string == "pending" }

    private mutating func begin(_ run: JSONValue) {
        guard let id = run["id"]?.string, let session = run["session"]?.string else { return }
        guard !runs.contains(where: { $0.id == id }), runs.count < Self.most else { return }
        runs.append(Run(id: id, session: session, startedAt: run["startedAt"]?.string))
    }

    private mutating func take(step: JSONValue, of event: JSONValue) {
        guard let index = runs.firstIndex(where: { $0.id == event["runId"]?.string }) else { return }
        let id = step["id"]?.string
        if let place = runs[index].steps.firstIndex(where: { $0["id"]?.string == id }) {
            runs[index].steps[place] = step
        } else {
            runs[index].steps.append(step)
            if runs[index].steps.count > Self.mostSteps { runs[index].steps.removeFirst() }
        }
    }

    private mutating func end(_ run: JSONValue) {
        let state = run["state"]?.string ?? ""
        guard ["completed", "failed", "aborted"].contains(state) else { return begin(run) }
        runs.removeAll { $0.id == run["id"]?.string }
        guard let session = run["session"]?.string else { return }
        if ends.count >= Self.most { ends = [:] }
        ends[session] = state
    }

    private mutating func take(_ item: JSONValue, into list: WritableKeyPath<TopModel, [JSONValue]>, _ stays: Bool) {
        let place = self[keyPath: list].firstIndex { $0["id"]?.string == item["id"]?.string }
        if let place { self[keyPath: list].remove(at: place) }
        guard stays, self[keyPath: list].count < Self.most else { return }
        self[keyPath: list].insert(item, at: place ?? self[keyPath: list].endIndex)
    }

    private static let kept = ["queued", "sending", "retrying", "accepted", "unconfirmed", "failed"]
    /// The states of the entries that are shown.
    static var entryStates: String { kept.joined(separator: ",") }

    private mutating func take(entry: JSONValue) {
        let known = entries.first { $0["id"]?.string == entry["id"]?.string }
        if let old = known?["version"]?.int, let new = entry["version"]?.int, new < old { return }
        take(entry, into: \.entries, Self.kept.contains(entry["state"]?.string ?? ""))
    }

    private mutating func take(session event: JSONValue) {
        let info = event["sessionInfo"]
        guard let key = info?["key"]?.string ?? event["session"]?.string else { return }
        sessions.removeAll { $0["key"]?.string == key }
        guard let info, !["deleted", "archived"].contains(event["reason"]?.string) else { return }
        sessions.insert(info, at: 0)
        if sessions.count > Self.most { sessions.removeLast() }
    }
}

extension JSONValue {
    /// A text of the server as one line that no terminal obeys.
    func line(_ name: String) -> String? { self[name]?.string.map(Printable.line) }
}
