/// One text out of the frames of one stream, in any order and repeated. Frames carry the text so far or only the new
/// piece; each has a sequence number. The frames of the open message are kept as one, so that memory is the text's.
struct TextAssembler: Sendable {
    enum Form: Sendable {
        /// Agent events: the text starts again with each message of a run, and the messages are joined.
        case messages
        /// Chat events: each text is the whole run's.
        case whole
    }

    enum Frame: Sendable {
        case sofar([UInt8])
        case piece([UInt8])
        /// Replaces what is there; later pieces are added to it.
        case replacement([UInt8])

        var bytes: [UInt8] {
            switch self {
            case .sofar(let bytes), .piece(let bytes), .replacement(let bytes): bytes
            }
        }
    }

    /// A frame, or several that were joined; it stands for all numbers of its range.
    private struct Entry: Sendable {
        var first: Int64
        var last: Int64
        var frame: Frame
    }

    private let form: Form
    private var entries: [Entry] = []
    /// The index in `entries` at which the open message begins.
    private var openStart = 0
    /// The text of earlier messages, and of the one that still grows.
    private(set) var closed: [UInt8] = []
    private(set) var open: [UInt8] = []

    /// Frames that would take the text beyond this many bytes are not taken.
    private let limit: Int

    init(_ form: Form, limit: Int = 2 * ActivityLimits.runTextBytes) {
        self.form = form
        self.limit = limit
    }

    var isEmpty: Bool { entries.isEmpty }
    var byteCount: Int { closed.count + open.count }

    /// True when the text may have changed.
    mutating func take(_ frame: Frame, sequence: Int64) -> Bool {
        guard byteCount + frame.bytes.count <= limit else { return false }
        if let last = entries.last, sequence <= last.last { return insert(frame, sequence: sequence) }
        append(frame, sequence: sequence)
        return true
    }

    /// The usual path: newer than everything known.
    private mutating func append(_ frame: Frame, sequence: Int64) {
        var entry = Entry(first: sequence, last: sequence, frame: frame)
        let before = closed.count
        let previous = openStart
        fold(frame, at: entries.count)
        if case .sofar = frame, openStart == previous, closed.count == before, openStart < entries.count {
            // It holds all of the open message: one entry stands for it.
            entry.first = entries[openStart].first
            entry.frame = .sofar(open)
            entries.removeSubrange(openStart...)
        }
        entries.append(entry)
        joinPieces()
    }

    /// A frame that was overtaken by newer ones, or comes again.
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
                // An older, shorter state of the open message.
            } else if !closed.isEmpty, bytes.hasBytes(closed) {
                // This gateway goes on with the text of the whole run.
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

    /// Joins old pieces: frames that belong between them no longer come.
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
