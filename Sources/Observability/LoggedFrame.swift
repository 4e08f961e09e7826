package import Basics
package import JSONBytes

/// One frame that went over the link, without its secrets.
package struct LoggedFrame: Sendable, JSONWritable {
    package enum Direction: String, Sendable {
        case inbound = "in"
        case outbound = "out"
    }

    /// The most frames kept, and so the most in one list.
    package static let mostKept = 500

    /// Counted from 1 since the process started. A reader asks for the frames after its last number.
    package let number: Int64
    package let at: Timestamp
    package let direction: Direction
    /// The size on the wire.
    package let size: Int
    /// Redacted JSON; empty if the frame was not JSON.
    package let frame: [UInt8]

    package init(number: Int64, at: Timestamp, direction: Direction, size: Int, frame: [UInt8]) {
        self.number = number
        self.at = at
        self.direction = direction
        self.size = size
        self.frame = frame
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("number", number)
            writer.member("at", at)
            writer.member("direction", direction.rawValue)
            writer.member("size", size)
            writer.member("frame", raw: frame.isEmpty ? nil : frame)
        }
    }
}
