import JSONBytes
import TestSupport

/// A recording of `captures-faults`: one client's requests and the gateway's frames, in order. Times are milliseconds
/// since the start of the recording.
struct GatewayRecording: Sendable {
    enum Release: Sendable {
        case v3, v4, v6
    }

    /// A message that the recorder sent.
    struct Message: Sendable {
        let session: String
        let text: String
        let key: String
        let sentAt: Int64
    }

    enum Step: Sendable {
        case opened(hello: Int)
        case closed
        case event(name: String, frame: FrameTemplate)
        case sent(Int)
        case acknowledged(Int)
        /// The recorder repeated the message to another gateway process, which ran it again.
        case ranAgain(Int)
    }

    struct TimedStep: Sendable {
        let time: Int64
        let step: Step
    }

    struct Opening: Sendable {
        let time: Int64
        let process: Int
        let uptime: Int64
        let payload: String
    }

    /// A call of the recorder with its answer.
    struct Call: Sendable {
        let method: String
        let session: String?
        let run: String?
        /// The parameters of `chat.history`.
        let limit: Int64?
        let maxChars: Int64?
        let message: Int?
        let asked: Int64
        let answered: Int64
        let process: Int
        let isOK: Bool
        let isRepeat: Bool
        let value: JSONValue
        let payload: FrameTemplate?
        let error: FrameTemplate?
    }

    let name: String
    let release: Release
    let epoch: Int64
    let messages: [Message]
    let steps: [TimedStep]
    let openings: [Opening]
    let calls: [Call]
    let runs: [String: RecordedRun]
    let transcripts: [String: RecordedTranscript]
    let rows: [RecordedRow]
    /// The full rows, by id, whose texts are cut in `rows`.
    let wholeRows: [String: FrameTemplate]
    let wholeTexts: [String: String]
    /// The runs that worked on each message: the one with its key, and the gateway's own that began with its row.
    private let answering: [[String]]
    /// The messages that each run worked on.
    private let owners: [String: [Int]]

    func answers(to message: Int) -> [RecordedRun] { answering[message].compactMap { runs[$0] } }
    func messages(of run: String) -> [Int] { owners[run] ?? messages.firstIndex { $0.key == run }.map { [$0] } ?? [] }

    /// The gateway process at a time; if none runs, the last one.
    func process(at time: Int64) -> Int { openings.last { $0.time <= time }?.process ?? 0 }

    var end: Int64 { steps.last?.time ?? 0 }
}

// MARK: Reading

extension GatewayRecording {
    private struct Line {
        let direction: String
        let time: Int64
        let connection: String
        let frame: JSONValue
    }

    /// Recordings without faults that show enough of the transcript: on the oldest release it follows from the events.
    private static let fair = [
        "chat-abort", "chat-duplicate-idempotency", "chat-error-400", "chat-error-401", "chat-error-429",
        "chat-error-500",
        "chat-error-context", "chat-send-while-busy", "history-after-abort",
    ].map { "\($0).v2026.3.1" }

    static let names: [String] = TestData.recordings("captures-faults") + fair

    init(_ name: String) throws {
        let folder = Self.fair.contains(name) ? "captures" : "captures-faults"
        let lines = try TestData.bytes("\(folder)/\(name).jsonl").split(separator: UInt8(ascii: "\n")).map {
            let root = try JSONDocument(parsing: Array($0), limits: .gateway).root
            return Line(
                direction: root["dir"]?.string ?? "",
                time: root["t"]?.int ?? 0,
                connection: root["conn"]?.string ?? "",
                frame: root["frame"] ?? root
            )
        }
        self.name = name
        release = name.hasSuffix("2026.3.1") ? .v3 : name.hasSuffix("2026.4.26") ? .v4 : .v6
        epoch = Self.epoch(lines)
        let beside = Self.connectionsBeside(lines)
        messages = Self.messages(lines, beside: beside)
        let epoch = epoch
        let keys = Dictionary(uniqueKeysWithValues: messages.enumerated().map { ($1.key, $0) })
        var reader = Reader(epoch: epoch, keys: keys)
        for line in lines { reader.read(line, isBeside: beside.contains(line.connection)) }
        // The recorder disconnected; the gateway continued.
        while case .closed? = reader.steps.last?.step { reader.steps.removeLast() }
        steps = reader.steps
        openings = reader.openings
        calls = reader.calls
        runs = reader.runs
        let book = RecordedTranscript.all(
            RecordedTranscript.Sources(
                messages: messages,
                calls: reader.calls,
                notices: reader.notices,
                resets: reader.resets,
                runs: reader.runs,
                epoch: epoch
            ) { FrameTemplate($0.raw, keys: keys, epoch: epoch) }
        )
        transcripts = book.transcripts
        rows = book.rows
        let long = reader.calls.filter { $0.method == "chat.history" && $0.isOK && $0.maxChars != nil }
            .sorted { $0.maxChars ?? 0 < $1.maxChars ?? 0 }
        var whole: [String: JSONValue] = [:]
        for message in long.flatMap({ $0.value["messages"].map { Array($0.elements) } ?? [] }) {
            if let id = message["__openclaw"]?["id"]?.string { whole[id] = message }
        }
        wholeRows = whole.mapValues { FrameTemplate($0.raw, keys: keys, epoch: epoch) }
        wholeTexts = whole.mapValues { RecordedRow.text(of: $0) }
        let answering = Self.answering(messages, reader.runs, book.rows, epoch)
        self.answering = answering
        owners = messages.indices.reduce(into: [:]) { owners, message in
            for run in answering[message] { owners[run, default: []].append(message) }
        }
    }

    private static func answering(
        _ messages: [Message],
        _ runs: [String: RecordedRun],
        _ rows: [RecordedRow],
        _ epoch: Int64
    ) -> [[String]] {
        let keys = Set(messages.map(\.key))
        let others = runs.values.filter { !keys.contains($0.id) }.sorted { $0.id < $1.id }
        return messages.map { message in
            let own = rows.filter {
                $0.session == message.session && $0.role == "user" && $0.isOf(message, epoch: epoch)
            }
            let late = others.filter { run in
                run.session == message.session
                    && run.starts.contains { start in own.contains { abs(start - $0.timestamp) <= 5 } }
            }
            return (runs[message.key] == nil ? [] : [message.key]) + late.map(\.id)
        }
    }

    private static func epoch(_ lines: [Line]) -> Int64 {
        for line in lines {
            if let ts = line.frame["payload"]?["ts"]?.int { return ts - line.time }
        }
        return 0
    }

    /// The connections of a second client.
    private static func connectionsBeside(_ lines: [Line]) -> Set<String> {
        var first: String?
        var isOpen = false
        var beside: Set<String> = []
        for line in lines where !line.connection.isEmpty && !beside.contains(line.connection) {
            if let first, first != line.connection, isOpen {
                beside.insert(line.connection)
                continue
            }
            first = line.connection
            isOpen = line.direction != "close"
        }
        return beside
    }

    private static func messages(_ lines: [Line], beside: Set<String>) -> [Message] {
        var keys: Set<String> = []
        return lines.compactMap { line in
            guard line.direction == "out", line.frame["method"]?.string == "chat.send",
                !beside.contains(line.connection),
                let params = line.frame["params"], let key = params["idempotencyKey"]?.string, keys.insert(key).inserted
            else { return nil }
            return Message(
                session: params["sessionKey"]?.string ?? "",
                text: params["message"]?.string ?? "",
                key: key,
                sentAt: line.time
            )
        }
    }

    private struct Reader {
        private struct Question {
            let method: String
            let params: JSONValue?
            let time: Int64
            let isRepeat: Bool
            let runsAgain: Bool
        }

        let epoch: Int64
        let keys: [String: Int]
        var steps: [TimedStep] = []
        var openings: [Opening] = []
        var calls: [Call] = []
        var runs: [String: RecordedRun] = [:]
        var notices: [RecordedTranscript.Notice] = []
        var resets: [(session: String, time: Int64)] = []
        private var questions: [String: Question] = [:]
        private var sentTo: [Int: Int] = [:]
        private var process: Int { openings.last?.process ?? 0 }

        init(epoch: Int64, keys: [String: Int]) {
            self.epoch = epoch
            self.keys = keys
        }

        mutating func read(_ line: Line, isBeside: Bool) {
            switch line.direction {
            case "close": if !isBeside { add(.closed, line.time) }
            case "out": ask(line, isBeside: isBeside)
            case "in" where line.frame["type"]?.string == "res": answer(line, isBeside: isBeside)
            case "in": if !isBeside { event(line) }
            default: break
            }
        }

        private mutating func add(_ step: Step, _ time: Int64) { steps.append(TimedStep(time: time, step: step)) }

        private func template(_ value: JSONValue?) -> FrameTemplate? {
            value.map { FrameTemplate($0.raw, keys: keys, epoch: epoch) }
        }

        private mutating func ask(_ line: Line, isBeside: Bool) {
            let method = line.frame["method"]?.string ?? ""
            let params = line.frame["params"]
            var isRepeat = false
            var runsAgain = false
            if method == "chat.send", !isBeside, let message = params?["idempotencyKey"]?.string.flatMap({ keys[$0] }) {
                isRepeat = sentTo[message] != nil
                runsAgain = isRepeat && sentTo[message] != process
                sentTo[message] = process
                if !isRepeat { add(.sent(message), line.time) }
                if runsAgain { add(.ranAgain(message), line.time) }
            }
            if method == "sessions.reset", let session = params?["key"]?.string { resets.append((session, line.time)) }
            questions["\(line.connection) \(line.frame["id"]?.string ?? "")"] = Question(
                method: method,
                params: params,
                time: line.time,
                isRepeat: isRepeat,
                runsAgain: runsAgain
            )
        }

        private mutating func answer(_ line: Line, isBeside: Bool) {
            guard let question = questions["\(line.connection) \(line.frame["id"]?.string ?? "")"] else { return }
            let payload = line.frame["payload"]
            if question.method == "connect" {
                if !isBeside, let payload { open(payload, line.time) }
                return
            }
            let message = question.params?["idempotencyKey"]?.string.flatMap { keys[$0] }
            let call = Call(
                method: question.method,
                session: question.params?["sessionKey"]?.string ?? question.params?["key"]?.string,
                run: question.params?["runId"]?.string,
                limit: question.params?["limit"]?.int,
                maxChars: question.params?["maxChars"]?.int,
                message: message,
                asked: question.time,
                answered: line.time,
                process: process,
                isOK: line.frame["ok"]?.bool ?? false,
                isRepeat: question.isRepeat,
                value: payload ?? line.frame,
                payload: template(payload),
                error: template(line.frame["error"])
            )
            calls.append(call)
            if let message, question.method == "chat.send", !isBeside, !question.isRepeat {
                add(.acknowledged(message), line.time)
            }
        }

        private mutating func open(_ payload: JSONValue, _ time: Int64) {
            let uptime = payload["snapshot"]?["uptimeMs"]?.int ?? 0
            let isSame = openings.last.map { uptime + 1000 >= $0.uptime + time - $0.time } ?? true
            openings.append(
                Opening(
                    time: time,
                    process: isSame ? process : process + 1,
                    uptime: uptime,
                    payload: String(decoding: payload.raw, as: UTF8.self)
                )
            )
            add(.opened(hello: openings.count - 1), time)
        }

        private mutating func event(_ line: Line) {
            let name = line.frame["event"]?.string ?? ""
            guard name != "connect.challenge", let payload = line.frame["payload"] else { return }
            add(.event(name: name, frame: FrameTemplate(line.frame.raw, keys: keys, epoch: epoch)), line.time)
            if name == "session.message" {
                if let notice = RecordedTranscript.Notice(payload, time: line.time) { notices.append(notice) }
            } else if name == "sessions.changed", payload["reason"]?.string == "reset" {
                resets.append((payload["sessionKey"]?.string ?? "", line.time))
            }
            guard let run = payload["runId"]?.string else { return }
            runs[run, default: RecordedRun(id: run, session: payload["sessionKey"]?.string ?? "")].note(
                name,
                payload,
                at: line.time,
                process: process
            )
        }
    }
}
