import Basics
import EventStream
package import HTTPModel
import JSONBytes
import ReadableText
import Service

/// The encoding of a stream: three formats with one cursor.
package enum StreamFormat: Hashable, Sendable {
    case eventStream, ndjson, text

    /// The most data in one event, with room for the other fields.
    static let largestData = SSEEncoder.maxEventBytes - 512

    package init(_ type: MediaType) {
        switch type {
        case .ndjson: self = .ndjson
        case .plain: self = .text
        default: self = .eventStream
        }
    }

    package var contentType: String {
        switch self {
        case .eventStream: "text/event-stream"
        case .ndjson: "application/x-ndjson"
        case .text: "text/plain; charset=utf-8"
        }
    }

    /// The event as one JSON object. One that is too large has the beginning of its long texts, and a link to the whole. Of a damaged
    /// one there is only the link.
    static func data(of event: StreamEvent) -> [UInt8] {
        guard event.isDamaged || event.data.count > largestData else { return event.data }
        let whole = try? JSONDocument(parsing: event.data, limits: .gateway).root
        if let whole, !event.isDamaged {
            for limit in [32 << 10, 4 << 10, 512] {
                let short = shortened(whole, texts: limit, href: href(of: event, whole))
                if short.count <= largestData { return short }
            }
        }
        return stub(for: event, whole)
    }

    /// The same members, so that a client reads it like any other event of its type.
    private static func shortened(_ whole: JSONValue, texts limit: Int, href: String) -> [UInt8] {
        var writer = JSONWriter(capacity: largestData)
        writer.object { object in
            for (name, member) in whole.members {
                object.key(name)
                object.copy(member, textsTo: limit)
            }
            object.member("truncated", true)
            object.member("href", href)
        }
        return writer.bytes
    }

    func encode(_ event: StreamEvent) -> [UInt8] {
        let data = Self.data(of: event)
        var bytes: [UInt8] = []
        switch self {
        case .eventStream:
            SSEEncoder.append(id: event.id, type: event.type, retry: event.retry, data: data, to: &bytes)
        case .ndjson:
            bytes.reserveCapacity(data.count + 1)
            bytes.append(contentsOf: data)
            bytes.append(0x0A)
        case .text:
            bytes.append(contentsOf: Self.line(for: event).utf8)
            bytes.append(0x0A)
        }
        return bytes
    }

    /// The event as one line. The time is `HH:MM:SS` in UTC.
    static func line(for event: StreamEvent) -> String {
        guard let data = AnswerForm.of(data(of: event)) else { return event.type }
        let time = data["at"]?.string ?? ""
        return EventText.line(data, at: time.utf8.count >= 19 ? String(time.dropFirst(11).prefix(8)) : time, .plain)
    }

    /// For an event that is damaged, or too large without its texts.
    private static func stub(for event: StreamEvent, _ whole: JSONValue?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("id", event.id?.text)
            object.member("type", event.type)
            object.member("at", whole?["at"]?.string)
            object.member("session", event.session)
            object.member("runId", event.run)
            object.member("truncated", true)
            object.member("bytes", event.data.count)
            object.member("href", href(of: event, whole))
        }
        return writer.bytes
    }

    /// Where the whole is.
    private static func href(of event: StreamEvent, _ whole: JSONValue?) -> String {
        let kinds = ["approval": "approvals", "question": "questions", "automation": "automations", "node": "nodes"]
        if let path = kinds[event.type], let id = whole?[event.type]?["id"]?.string {
            return "/v1/\(path)/\(PercentCoding.encode(id))"
        }
        if event.type == "usage" { return "/v1/usage" }
        if let run = event.run { return "/v1/runs/\(PercentCoding.encode(run))" }
        if let session = event.session { return "/v1/messages?session=\(PercentCoding.encode(session))" }
        return "/v1/status"
    }

    /// A heartbeat. Most clients accept a comment; a client that cannot see comments asks for an event.
    func heartbeat(asEvent: Bool, at: Timestamp) -> [UInt8] {
        switch self {
        case .eventStream:
            asEvent ? encode(StreamEvent(transient: "heartbeat", at: at) { _ in }) : SSEEncoder.heartbeatComment
        case .ndjson: encode(StreamEvent(transient: "heartbeat", at: at) { _ in })
        case .text: Self.blank
        }
    }

    private static let blank: [UInt8] = [0x0A]
}
