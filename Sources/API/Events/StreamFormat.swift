import Basics
import EventStream
package import HTTPModel
import JSONBytes
import ReadableText
import Service

/// The encoding of a stream: three formats with one cursor.
package enum StreamFormat: Hashable, Sendable {
    case eventStream, ndjson, text

    /// The most data in one event, with room for the other fields. A larger event is replaced by a stub with a link.
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

    /// The event as one JSON object, or a stub if it is too large.
    static func data(of event: StreamEvent) -> [UInt8] {
        event.data.count > largestData ? stub(for: event) : event.data
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
        guard let data = try? JSONDocument(parsing: event.data, limits: .gateway).root else { return event.type }
        let time = data["at"]?.string ?? ""
        return EventText.line(data, at: time.utf8.count >= 19 ? String(time.dropFirst(11).prefix(8)) : time, .plain)
    }

    /// The link leads to the full event, so nothing is lost.
    private static func stub(for event: StreamEvent) -> [UInt8] {
        let whole = try? JSONDocument(parsing: event.data, limits: .gateway).root
        var writer = JSONWriter()
        writer.object { object in
            object.member("id", event.id?.text)
            object.member("type", event.type)
            object.member("at", whole?["at"]?.string)
            object.member("session", event.session)
            object.member("runId", event.run)
            object.member("truncated", true)
            object.member("bytes", event.data.count)
            if event.type == "approval", let id = whole?["approval"]?["id"]?.string {
                object.member("href", "/v1/approvals/\(PercentCoding.encode(id))")
            } else if event.type == "question", let id = whole?["question"]?["id"]?.string {
                object.member("href", "/v1/questions/\(PercentCoding.encode(id))")
            } else if event.type == "automation", let id = whole?["automation"]?["id"]?.string {
                object.member("href", "/v1/automations/\(PercentCoding.encode(id))")
            } else if event.type == "node", let id = whole?["node"]?["id"]?.string {
                object.member("href", "/v1/nodes/\(PercentCoding.encode(id))")
            } else if event.type == "usage" {
                object.member("href", "/v1/usage")
            } else if let run = event.run {
                object.member("href", "/v1/runs/\(PercentCoding.encode(run))")
            } else if let session = event.session {
                object.member("href", "/v1/messages?session=\(PercentCoding.encode(session))")
            } else {
                object.member("href", "/v1/status")
            }
        }
        return writer.bytes
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
