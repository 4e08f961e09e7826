package import Basics
package import JSONBytes

/// The last frames in both directions, redacted before they are stored. Limited in number and in bytes; off by default.
package struct FrameLog: Sendable {
    package enum Direction: String, Sendable {
        case inbound = "in"
        case outbound = "out"
    }

    package struct Entry: Sendable, JSONWritable {
        /// Counts from 1 while the process lives. A reader asks for the entries after its last number.
        package let number: Int64
        package let at: Timestamp
        package let direction: Direction
        /// The size on the wire.
        package let size: Int
        /// Redacted JSON; empty if the frame was not JSON.
        package let frame: [UInt8]

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

    package static let standardEntries = 500
    static let standardBytes = 1 << 20

    private let maxEntries: Int
    private let maxBytes: Int
    private var entries: [Entry] = []
    private var start = 0
    private var bytes = 0
    private var next: Int64 = 1
    /// Redacts the secrets in use; the link keeps the list current.
    var redaction = FrameRedaction()

    package init(maxEntries: Int = standardEntries, maxBytes: Int = standardBytes) {
        self.maxEntries = max(maxEntries, 1)
        self.maxBytes = max(maxBytes, 1)
    }

    /// `document` is nil for bytes that are not JSON; then only their size is kept.
    @discardableResult
    package mutating func add(_ direction: Direction, _ document: JSONDocument?, size: Int, at: Timestamp) -> Entry {
        let frame = document.map { redaction.text($0.root) } ?? []
        let entry = Entry(number: next, at: at, direction: direction, size: size, frame: frame)
        next += 1
        entries.append(entry)
        bytes += frame.count
        while entries.count - start > maxEntries || (bytes > maxBytes && entries.count - start > 1) {
            bytes -= entries[start].frame.count
            start += 1
        }
        // Dropped entries are removed in batches, so that a full log does not shift its array with each frame. Until
        // then they take at most as much memory again.
        if start > entries.count / 2 {
            entries.removeFirst(start)
            start = 0
        }
        return entry
    }

    package func after(_ number: Int64) -> ArraySlice<Entry> {
        let all = entries[start...]
        return all[all.partitioningIndex { $0.number > number }...]
    }

    package var count: Int { entries.count - start }
    package var keptBytes: Int { bytes }
}
