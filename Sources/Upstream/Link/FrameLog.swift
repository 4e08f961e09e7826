package import Basics
package import JSONBytes
package import Observability

/// The last frames in both directions, redacted before they are stored. Limited in number and in bytes; off by default.
package struct FrameLog: Sendable {
    static let standardBytes = 1 << 20

    private let maxEntries: Int
    private let maxBytes: Int
    private var entries: [LoggedFrame] = []
    private var start = 0
    private var bytes = 0
    private var next: Int64 = 1
    /// Redacts the secrets in use; the link keeps the list current.
    var redaction = FrameRedaction()

    package init(maxEntries: Int = LoggedFrame.mostKept, maxBytes: Int = standardBytes) {
        self.maxEntries = max(maxEntries, 1)
        self.maxBytes = max(maxBytes, 1)
    }

    /// `document` is nil for bytes that are not JSON; then only their size is kept.
    @discardableResult
    package mutating func add(_ direction: LoggedFrame.Direction, _ document: JSONDocument?, size: Int, at: Timestamp)
        -> LoggedFrame
    {
        let frame = document.map { redaction.text($0.root) } ?? []
        let entry = LoggedFrame(number: next, at: at, direction: direction, size: size, frame: frame)
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

    package func after(_ number: Int64) -> ArraySlice<LoggedFrame> {
        let all = entries[start...]
        return all[all.partitioningIndex { $0.number > number }...]
    }

    package var count: Int { entries.count - start }
    package var keptBytes: Int { bytes }
}
