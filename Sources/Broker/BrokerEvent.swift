package import Basics
import JSONBytes

/// A durable event: its data as in the event stream, and the id of the event before it on this topic tree. A
/// subscriber that has not seen `prev` has missed something.
package struct BrokerEvent: Sendable, Equatable {
    private static let limits = JSONLimits(depth: 64, bytes: 4 << 20)

    package let type: String
    package let id: String
    package let prev: String?
    package let at: Timestamp
    package let data: [UInt8]

    /// - Parameters:
    ///   - prev: nil for the first one that goes to this broker.
    ///   - data: a JSON object.
    package init(type: String, id: String, prev: String?, at: Timestamp, data: [UInt8]) {
        self.type = type
        self.id = id
        self.prev = prev
        self.at = at
        self.data = data
    }

    /// The stub where the whole is more than `limit` bytes, or the data is no JSON object.
    package func payload(limit: Int) -> [UInt8] {
        if let spliced { return spliced.count <= limit ? spliced : stub }
        guard data.count <= limit, let root = try? JSONDocument(parsing: data, limits: Self.limits).root,
            root.kind == .object
        else { return stub }
        var writer = JSONWriter(capacity: data.count + 128)
        writer.object { object in
            if root["type"] == nil { object.member("type", type) }
            if root["id"] == nil { object.member("id", id) }
            for (name, value) in root.members where name != "prev" {
                object.key(name)
                object.raw(value.raw)
            }
            object.always("prev", prev)
        }
        return writer.bytes.count <= limit ? writer.bytes : stub
    }

    /// The data as the log has it, with two members put in front; nil for any other data. Nothing is read and written anew.
    private var spliced: [UInt8]? {
        guard data.starts(with: Self.beginning) else { return nil }
        var writer = JSONWriter(capacity: data.count + 64)
        writer.object { object in
            object.member("id", id)
            object.always("prev", prev)
        }
        var bytes = writer.bytes
        bytes[bytes.count - 1] = UInt8(ascii: ",")
        bytes.append(contentsOf: data.dropFirst())
        return bytes
    }

    private static let beginning = Array(#"{"type":"#.utf8)

    /// Stands for an event that the broker does not take. The event stream has it whole.
    package var stub: [UInt8] {
        JSONWriter.bytes { object in
            object.member("type", type)
            object.member("id", id)
            object.always("prev", prev)
            object.member("at", at)
            object.member("tooLarge", true)
        }
    }

    /// The events after `requested` are not all in the log any more; the next event is the one at `oldest` or a later
    /// one.
    package static func reset(at: Timestamp, requested: String?, oldest: String?, newest: String) -> [UInt8] {
        JSONWriter.bytes { object in
            object.member("type", "reset")
            object.member("at", at)
            object.always("requested", requested)
            object.always("oldest", oldest)
            object.member("newest", newest)
        }
    }
}
