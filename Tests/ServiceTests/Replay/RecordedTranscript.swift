import Basics
import JSONBytes

/// A row of a transcript, with the time in which it was there.
struct RecordedRow: Sendable {
    let session: String
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

/// The transcript of a session as the recorded answers of `chat.history` show it: a row is there from the first sign that it
/// was written, never before the last answer that lacked it; it is gone with the first answer that lacks it again.
struct RecordedTranscript: Sendable {
    /// A `session.message` that names the row it tells of.
    struct Notice: Sendable {
        let session: String
        let id: String
        let time: Int64
        let role: String
        let text: String
        let key: String?

        init?(_ payload: JSONValue, time: Int64) {
            guard let id = payload["messageId"]?.string, let message = payload["message"] else { return nil }
            session = payload["sessionKey"]?.string ?? ""
            self.id = id
            self.time = time
            role = message["role"]?.string ?? ""
            text = RecordedRow.text(of: message)
            key = RecordedRow.key(of: message)
        }
    }

    /// Places in `rows` of the whole recording, in the order of the transcript.
    private(set) var order: [Int] = []

    static func all(
        calls: [GatewayRecording.Call],
        notices: [Notice],
        resets: [(session: String, time: Int64)],
        runs: [String: RecordedRun],
        epoch: Int64,
        template: (JSONValue) -> FrameTemplate
    ) -> (transcripts: [String: RecordedTranscript], rows: [RecordedRow]) {
        var transcripts: [String: RecordedTranscript] = [:]
        var rows: [RecordedRow] = []
        let histories = calls.filter { $0.method == "chat.history" && $0.isOK }
        for (session, pages) in Dictionary(grouping: histories, by: { $0.session ?? "" }) {
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
                        let sign = sign(of: message, session, notices, runs, epoch) ?? page.answered
                        rows.append(
                            RecordedRow(
                                session: session,
                                role: message["role"]?.string ?? "",
                                text: RecordedRow.text(of: message),
                                key: RecordedRow.key(of: message),
                                stopReason: message["stopReason"]?.string,
                                timestamp: message["timestamp"]?.int ?? 0,
                                template: template(message),
                                appears: min(max(sign, before), page.answered)
                            )
                        )
                        let spot = last.flatMap { transcript.order.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
                        transcript.order.insert(place, at: spot)
                    }
                    rows[place].vanishes = nil
                    shown.insert(place)
                    last = place
                }
                for place in transcript.order where !shown.contains(place) && rows[place].vanishes == nil {
                    let since = number == 0 ? Int64.min : pages[number - 1].answered
                    let reset = resets.first { $0.session == session && $0.time > since && $0.time <= page.answered }
                    rows[place].vanishes = reset?.time ?? page.answered
                }
            }
            transcripts[session] = transcript
        }
        return (transcripts, rows)
    }

    private static func identity(_ message: JSONValue) -> String {
        let id =
            message["__openclaw"]?["id"]?.string ?? "\(message["role"]?.string ?? "") \(message["timestamp"]?.int ?? 0)"
        return "\(id) \(FNV1a.name(message["content"]?.raw ?? message.raw))"
    }

    /// The first sign that the row was written.
    private static func sign(
        of message: JSONValue,
        _ session: String,
        _ notices: [Notice],
        _ runs: [String: RecordedRun],
        _ epoch: Int64
    ) -> Int64? {
        if let id = message["__openclaw"]?["id"]?.string,
            let notice = notices.first(where: { $0.session == session && $0.id == id })
        {
            return notice.time
        }
        let timestamp = message["timestamp"]?.int ?? 0
        let text = RecordedRow.text(of: message)
        let marks = runs.values.filter { $0.session == session }.flatMap(\.marks)
        switch message["role"]?.string {
        case "user":
            // Releases that tell of no row write the user's with the time of the run's start.
            return marks.first { mark in
                if case .began(let startedAt?) = mark.mark { abs(startedAt - timestamp) <= 2 } else { false }
            }?.time
        case "assistant":
            // The answer stands when its run's end comes.
            return marks.filter { mark in
                if case .final(let final?) = mark.mark { final == text && !text.isEmpty } else { false }
            }.map(\.time).min()
        case "toolResult": return timestamp - epoch
        default: return nil
        }
    }
}
