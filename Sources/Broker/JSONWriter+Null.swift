import Basics
import JSONBytes

/// Members that are always there. A template of Home Assistant warns of a missing one with each message, and shows
/// null as unknown.
extension JSONWriter {
    mutating func always(_ name: String, _ value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }

    mutating func always(_ name: String, _ value: Timestamp?) {
        key(name)
        if let value { time(value) } else { null() }
    }

    mutating func always(_ name: String, _ value: Int64?) {
        key(name)
        if let value { int(value) } else { null() }
    }

    mutating func always(_ name: String, _ value: Double?) {
        key(name)
        if let value { double(value) } else { null() }
    }

    /// The bytes of one object.
    static func bytes(capacity: Int = 256, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(capacity: capacity)
        writer.object(nil, body)
        return writer.bytes
    }
}
