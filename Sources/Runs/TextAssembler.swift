/// Assembles a text from the frames of one stream, which may be repeated or out of order. A frame has a sequence number, and the
/// text so far or only the next piece. The frames of the open message are joined, so that they take no more memory than the text.
struct TextAssembler: Sendable {
    enum Form: Sendable {
        /// Agent events: the text starts again with each message of a run, and all messages together are the run's text.
        case messages
        /// Chat events: each text is that of the whole run.
        case whole
    }

    enum Frame: Sendable {
        case sofar([UInt8])
        case piece([UInt8])
        /// Replaces the open message. Later pieces are added to it.
        case replacement([UInt8])

        var bytes: [UInt8] {
            switch self {
            case .sofar(let bytes), .piece(let bytes), .replacement(let bytes): bytes
            }
        }
    }

    /// A frame, or several joined frames with all sequence numbers of a range.
    private struct Entry: Sendable {
        var first: Int64
        var last: Int64
        var frame: Frame
    }

    private let form: Form
    private var entries: [Entry] = []
    /// The index in `entries` at which the open message begins.
    private var openStart = 0
    /// The text of earlier messages.
    private(set) var closed: [UInt8] = []
    /// The text of the message that still grows.
    private(set) var open: [UInt8] = []

    /// The most bytes of text. A frame that would exceed them is ignored.
    private let limit: Int

    init(_ form: Form, limit: Int = 2 * ActivityLimits.runTextBytes) {
        self.form = form
        self.limit = limit
    }

    var isEmpty: Bool { entries.isEmpty }
    var byteCount: Int { closed.count + open.count }

    /// - Returns: whether the text may have changed.
    mutating func take(_ frame: Frame, sequence: Int64) -> Bool {
        guard byteCount + frame.bytes.count <= limit else { return false }
        if let last = entries.last, sequence <= last.last { return insert(frame, sequence: sequence) }
        append(frame, sequence: sequence)
        return true
    }

    /// The usual case: a frame that is newer than all frames so far.
    private mutating func append(_ frame: Frame, sequence: Int64) {
        var entry = Entry(first: sequence, last: sequence, frame: frame)
        let before = closed.count
        let previous = openStart
        fold(frame, at: entries.count)
        if case .sofar = frame, openStart == previous, closed.count == before, openStart < entries.count {
            // The frame has the whole open message, so its entry replaces the message's other entries.
            entry.first = entries[openStart].first
            entry.frame = .sofar(open)
            entries.removeSubrange(openStart...)
        }
        entries.append(entry)
        joinPieces()
    }

    /// A frame that newer frames overtook, or a repeated frame.
    private mutating func insert(_ frame: Frame, sequence: Int64) -> Bool {
        let place = entries.firstIndex { $0.last >= sequence } ?? entries.count
        guard entries.count < 4 * ActivityLimits.reorderWindow, entries[place].first > sequence else { return false }
        if form == .whole, entries[place...].contains(where: { if case .sofar = $0.frame { true } else { false } }) {
            return false
        }
        entries.insert(Entry(first: sequence, last: sequence, frame: frame), at: place)
        closed = []
        open = []
        openStart = 0
        for (place, entry) in entries.enumerated() { fold(entry.frame, at: place) }
        return true
    }

    private mutating func fold(_ frame: Frame, at place: Int) {
        switch frame {
        case .sofar(let bytes):
            if form == .whole {
                openStart = 0
                open = bytes
            } else if bytes.hasBytes(open) {
                open = bytes
            } else if open.hasBytes(bytes) {
                // The frame is an older, shorter state of the open message.
            } else if !closed.isEmpty, bytes.hasBytes(closed) {
                // This gateway sends the text of the whole run from here on.
                closed = []
                openStart = 0
                open = bytes
            } else {
                closed += open
                openStart = place
                open = bytes
            }
        case .piece(let bytes): open += bytes
        case .replacement(let bytes): open = bytes
        }
    }

    /// Joins old pieces. A frame between them would be too late.
    private mutating func joinPieces() {
        let window = ActivityLimits.reorderWindow
        guard entries.count - openStart > 2 * window else { return }
        let range = openStart..<openStart + window
        var joined = entries[openStart]
        var bytes = joined.frame.bytes
        for entry in entries[range].dropFirst() {
            if case .replacement(let replaced) = entry.frame { bytes = replaced } else { bytes += entry.frame.bytes }
            joined.last = entry.last
        }
        switch joined.frame {
        case .sofar: joined.frame = .sofar(bytes)
        case .piece: joined.frame = .piece(bytes)
        case .replacement: joined.frame = .replacement(bytes)
        }
        entries.replaceSubrange(range, with: [joined])
    }
}
