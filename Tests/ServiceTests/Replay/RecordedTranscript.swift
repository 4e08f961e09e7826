import Basics
import JSONBytes

/// A row of a transcript, with the time of its existence.
struct RecordedRow: Sendable {
    let session: String
    let id: String?
    let role: String
    let text: String
    let key: String?
    let stopReason: String?
    /// Milliseconds since 1970, as recorded.
    let timestamp: Int64
    let template: FrameTemplate
    var appears: Int64
    var vanishes: Int64?

    func isThere(at time: Int64) -> Bool { appears <= time && vanishes.map { time < $0 } ?? true }

    static func key(of message: JSONValue) -> String? {
        message["idempotencyKey"]?.string ?? message["__openclaw"]?["idempotencyKey"]?.string
    }

    static func text(of message: JSONValue) -> String {
        guard let content = message["content"] else { return message["text"]?.string ?? "" }
        if let text = content.string { return text }
        return content.elements.compactMap { $0["type"]?.string == "text" ? $0["text"]?.string : nil }
            .joined(separator: "\n")
    }
}

/// The transcript of a session according to the recorded answers of `chat.history`: a row exists from the first sign
/// that it was written, but never before the last answer without it; it ends with the first answer that lacks it again.
struct RecordedTranscript: Sendable {
    /// A `session.message` with its row.
    struct Notice: Sendable {
        let session: String
        let id: String
        let time: Int64
        let value: JSONValue

        init?(_ payload: JSONValue, time: Int64) {
            guard let id = payload["messageId"]?.string, let message = payload["message"] else { return nil }
            session = payload["sessionKey"]?.string ?? ""
            self.id = id
            self.time = time
            value = message
        }
    }

    /// The longest time between the user's row and the start of its run.
    private static let startTolerance: Int64 = 20

    /// The number of rows that the recorder reads of a transcript.
    private static let pageRows: Int64 = 50

    /// Indices in `rows` of the whole recording, in the order of the transcript.
    private(set) var order: [Int] = []

    /// The frames from which transcripts are built.
    struct Sources {
        let messages: [GatewayRecording.Message]
        let calls: [GatewayRecording.Call]
        let notices: [Notice]
        let resets: [(session: String, time: Int64)]
        let runs: [String: RecordedRun]
        let epoch: Int64
        let template: (JSONValue) -> FrameTemplate
    }

    static func all(_ sources: Sources) -> (transcripts: [String: RecordedTranscript], rows: [RecordedRow]) {
        var transcripts: [String: RecordedTranscript] = [:]
        var rows: [RecordedRow] = []
        // Pages with few rows, or with longer texts, show the same transcript.
        let histories = sources.calls.filter {
            let limit = $0.limit ?? pageRows
            let isAll = limit >= pageRows || $0.value["messages"]?.count ?? 0 < limit
            return $0.method == "chat.history" && $0.isOK && $0.maxChars == nil && isAll
        }
        for session in Set(sources.messages.map(\.session)).sorted() {
            let pages = histories.filter { $0.session == session }
            var transcript = RecordedTranscript()
            var places: [String: Int] = [:]
            for (number, page) in pages.enumerated() {
                var shown: Set<Int> = []
                var last: Int?
                for message in page.value["messages"].map({ Array($0.elements) }) ?? [] {
                    let identity = identity(message)
                    let place: Int
                    if let known = places[identity] {
                        place = known
                    } else {
                        place = rows.count
                        places[identity] = place
                        let before = number == 0 ? Int64.min : pages[number - 1].answered
                        let sign = sign(of: message, session, sources) ?? page.answered
                        let appears = min(max(sign, before), page.answered)
                        rows.append(row(message, session, appears, sources))
                        let spot = last.flatMap { transcript.order.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
                        transcript.order.insert(place, at: spot)
                    }
                    rows[place].vanishes = nil
                    shown.insert(place)
                    last = place
                }
                for place in transcript.order where !shown.contains(place) && rows[place].vanishes == nil {
                    let since = number == 0 ? Int64.min : pages[number - 1].answered
                    let reset = sources.resets.first {
                        $0.session == session && $0.time > since && $0.time <= page.answered
                    }
                    rows[place].vanishes = reset?.time ?? page.answered
                }
            }
            // A message stands in the transcript before its answer.
            var latest = Int64.max
            for place in transcript.order.reversed() {
                if rows[place].vanishes == nil { latest = min(latest, rows[place].appears) }
                if rows[place].role == "user" { rows[place].appears = min(rows[place].appears, latest) }
            }
            let known = places.keys.map { String($0.prefix { $0 != " " }) }
            for row in unread(session, pages.map(\.answered), known: Set(known), sources) {
                transcript.order.append(rows.count)
                rows.append(row)
            }
            transcripts[session] = transcript
        }
        return (transcripts, rows)
    }

    private static func row(_ message: JSONValue, _ session: String, _ appears: Int64, _ sources: Sources)
        -> RecordedRow
    {
        RecordedRow(
            session: session,
            id: message["__openclaw"]?["id"]?.string,
            role: message["role"]?.string ?? "",
            text: RecordedRow.text(of: message),
            key: RecordedRow.key(of: message),
            stopReason: message["stopReason"]?.string,
            timestamp: message["timestamp"]?.int ?? 0,
            template: sources.template(message),
            appears: appears
        )
    }

    /// Rows that the recorder never read, taken from the gateway's events: those after its last look, and those that a
    /// reset removed before the next one.
    private static func unread(
        _ session: String,
        _ looks: [Int64],
        known: Set<String>,
        _ sources: Sources
    ) -> [RecordedRow] {
        let since = looks.last ?? .min
        var rows: [RecordedRow] = []
        for notice in sources.notices where notice.session == session && !known.contains(notice.id) {
            let reset = sources.resets.first { $0.session == session && $0.time >= notice.time }?.time
            var row = row(notice.value, session, notice.time, sources)
            row.vanishes = reset ?? looks.first { $0 > notice.time }
            rows.append(row)
        }
        guard !sources.notices.contains(where: { $0.session == session }) else { return rows }
        // The oldest release has no events for rows: the user's row is written at the run's start, the answer at its
        // end.
        for message in sources.messages where message.session == session {
            guard let run = sources.runs[message.key] else { continue }
            for mark in run.marks where mark.time > since {
                switch mark.mark {
                case .began(let startedAt?):
                    let text =
                        #"{"role":"user","content":[{"type":"text","text":\#(quoted(message.text))}],"timestamp":\#(startedAt)}"#
                    rows.append(row(json(text), session, mark.time, sources))
                case .final(let answer?):
                    let time = sources.epoch + mark.time
                    let text =
                        #"{"role":"assistant","content":[{"type":"text","text":\#(quoted(answer))}],"stopReason":"stop","timestamp":\#(time)}"#
                    rows.append(row(json(text), session, mark.time, sources))
                default: break
                }
            }
        }
        return rows.sorted { $0.appears < $1.appears }
    }

    private static func identity(_ message: JSONValue) -> String {
        let id =
            message["__openclaw"]?["id"]?.string ?? "\(message["role"]?.string ?? "") \(message["timestamp"]?.int ?? 0)"
        return "\(id) \(FNV1a.name(message["content"]?.raw ?? message.raw))"
    }

    /// The first sign that the row was written.
    private static func sign(of message: JSONValue, _ session: String, _ sources: Sources) -> Int64? {
        if let id = message["__openclaw"]?["id"]?.string,
            let notice = sources.notices.first(where: { $0.session == session && $0.id == id })
        {
            return notice.time
        }
        let timestamp = message["timestamp"]?.int ?? 0
        let text = RecordedRow.text(of: message)
        let marks = sources.runs.values.filter { $0.session == session }.flatMap(\.marks)
        switch message["role"]?.string {
        case "user":
            // Releases without such events give the user's row the time of the run's start.
            return marks.first { mark in
                guard case .began(let startedAt?) = mark.mark else { return false }
                return abs(startedAt - timestamp) <= startTolerance
            }?.time
        case "assistant":
            // The answer is written when its run ends.
            let final = marks.filter { mark in
                if case .final(let final?) = mark.mark { final == text && !text.isEmpty } else { false }
            }.map(\.time).min()
            // On the oldest release a retry after an error gets no such event, and an abort a different one.
            return final
                ?? marks.filter { mark in
                    switch mark.mark {
                    case .lifecycleEnded, .aborted: sources.epoch + mark.time >= timestamp
                    default: false
                    }
                }.map(\.time).min()
        case "toolResult": return timestamp - sources.epoch
        default: return nil
        }
    }
}
