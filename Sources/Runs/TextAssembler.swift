/// Assembles a text from the frames of one stream, which may be repeated or out of order. A frame has a sequence number, and the
/// text so far or only the next piece.
///
/// The text is one buffer that grows at its end, so a piece costs its own bytes however long the text is, and a text so far is
/// compared once. A frame that others overtook only writes the bytes behind its place again.
struct TextAssembler: Sendable {
    enum Form: Sendable {
        /// Agent events: the text starts again with each message of a run, and all messages together are the run's text, as
        /// paragraphs.
        case messages
        /// Chat events: each text is that of the whole run.
        case whole
    }

    enum Frame: Sendable {
        case sofar(ArraySlice<UInt8>)
        case piece(ArraySlice<UInt8>)
        /// Replaces the open message. Later pieces are added to it.
        case replacement(ArraySlice<UInt8>)

        var bytes: ArraySlice<UInt8> {
            switch self {
            case .sofar(let bytes), .piece(let bytes), .replacement(let bytes): bytes
            }
        }

        fileprivate func with(_ bytes: ArraySlice<UInt8>) -> Frame {
            switch self {
            case .sofar: .sofar(bytes)
            case .piece: .piece(bytes)
            case .replacement: .replacement(bytes)
            }
        }
    }

    /// A frame whose place matters to frames that come late, or all frames of a message up to one that has the whole message.
    private struct Entry: Sendable {
        var first: Int64
        let last: Int64
        /// Without its bytes: the text has them, from `start` to the next entry, or to the break before the next message.
        let frame: Frame
        var start: Int
        var beginsMessage = false
        /// The number of the event that ended the message before, if a piece begins this one.
        var follows: Int64?
    }

    private let form: Form
    /// The newest frames. What is older is settled: no frame comes between any more.
    private var entries: [Entry] = []
    private var settled: (sequence: Int64, openStart: Int) = (.min, 0)
    /// The text of all messages, with a break between them.
    private(set) var text: [UInt8] = []
    /// Where the message begins that still grows.
    private var openStart = 0
    /// The number of an event that ended the open message. A piece behind it begins another one.
    private var end: Int64?
    /// How many bytes of the text's beginning have stayed since `keep`; nil before that.
    private(set) var kept: Int?
    private(set) var isEmpty = true
    /// Some of the text came in a frame.
    var hasFrames: Bool { newest > .min }

    /// The most bytes of text. A frame that would exceed them is ignored.
    private let limit: Int

    init(_ form: Form, limit: Int = 2 * ActivityLimits.runTextBytes) {
        self.form = form
        self.limit = limit
    }

    /// The text of earlier messages.
    var closed: ArraySlice<UInt8> { text[..<Self.end(before: openStart)] }
    /// The text of the message that still grows.
    var open: ArraySlice<UInt8> { text[openStart...] }

    /// Where the messages between the first one and the last one begin.
    var innerStarts: [Int] {
        let places = text.indices.prefix(openStart).dropFirst(Self.paragraph.count)
        return places.filter { text[$0 - 1] == Self.paragraph[1] && text[$0 - 2] == Self.paragraph[0] }
    }

    /// The blank line between two messages. No gateway sends it.
    static let paragraph = Array("\n\n".utf8)

    private static func end(before messageStart: Int) -> Int { max(0, messageStart - paragraph.count) }

    /// The agent does something else than write, so a piece with a higher number belongs to another message.
    mutating func endMessage(sequence: Int64) {
        guard form == .messages, sequence > newest, !open.isEmpty else { return }
        end = sequence
    }

    /// Whether the open message is known from its beginning: its first frame has the message so far, or it is yet to come.
    var isOpenFromStart: Bool {
        guard let first = entries.first(where: { $0.start >= openStart }) else { return open.isEmpty }
        if case .piece = first.frame { return first.follows != nil }
        return true
    }

    /// Puts these messages in place of the closed ones, of which frames were missed. Late frames of those tell nothing any more.
    mutating func replaceClosed(with messages: ArraySlice<UInt8>) {
        let beginning = messages + Self.paragraph
        guard open.count + beginning.count <= limit else { return }
        let newest = newest
        entries.removeAll { $0.start < openStart }
        for place in entries.indices { entries[place].start += beginning.count - openStart }
        settled.sequence = entries.first.map { max($0.first, .min + 1) - 1 } ?? newest
        text.replaceSubrange(..<openStart, with: beginning)
        openStart = beginning.count
        (settled.openStart, kept, isEmpty) = (openStart, nil, false)
    }

    /// The rest of a text that begins with the earlier messages, as June gateways send them: without breaks.
    func rest(of whole: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let closed = closed
        var (place, found) = (closed.startIndex, whole.startIndex)
        while place < closed.endIndex {
            if found < whole.endIndex, closed[place] == whole[found] {
                (place, found) = (place + 1, found + 1)
            } else if closed[place...].starts(with: Self.paragraph) {
                place += Self.paragraph.count
            } else {
                return nil
            }
        }
        return whole[found...]
    }

    /// Where the only message that is known begins in the text of the whole run; nil if it is not known from its beginning.
    func start(in whole: ArraySlice<UInt8>) -> Int? {
        guard openStart == 0, case .sofar? = entries.last?.frame else { return nil }
        let beginning = text.prefix(Self.compared)
        guard beginning.count == Self.compared, whole.count > text.count / 2 else { return nil }
        return whole.indices.dropLast(Self.compared).last { whole[$0...].starts(with: beginning) }
    }

    /// In bytes. A shorter beginning may stand anywhere.
    private static let compared = 12

    private var newest: Int64 { entries.last?.last ?? settled.sequence }

    mutating func keep(_ isKept: Bool = true) { kept = isKept ? text.count : nil }

    mutating func take(_ frame: Frame, sequence: Int64) {
        guard text.count + frame.bytes.count <= limit else { return }
        if isEmpty || sequence > newest {
            append(frame, first: sequence, last: sequence)
        } else {
            insert(frame, sequence: sequence)
        }
    }

    /// The usual case: a frame that is newer than all frames so far.
    private mutating func append(_ frame: Frame, first: Int64, last: Int64) {
        var entry = Entry(first: first, last: last, frame: frame.with([]), start: text.count)
        switch frame {
        case .piece(let bytes):
            if let end, first > end {
                beginMessage(&entry)
                entry.follows = end
            } else {
                entry.beginsMessage = isEmpty
            }
            text += bytes
        case .replacement(let bytes):
            replaceOpen(with: bytes, sharing: open.sharedBytes(bytes))
            standForMessage(&entry)
        case .sofar(let bytes):
            let shared = open.sharedBytes(bytes)
            if form == .whole || shared == open.count {
                replaceOpen(with: bytes, sharing: shared)
                standForMessage(&entry)
            } else if shared == bytes.count {
                // The frame is an older, shorter state of the open message.
                standForMessage(&entry)
            } else if openStart > 0, let bytes = rest(of: bytes) {
                // This gateway sends the text of the whole run from here on.
                replaceOpen(with: bytes, sharing: open.sharedBytes(bytes))
                standForMessage(&entry)
            } else {
                beginMessage(&entry)
                text += bytes
            }
        }
        (isEmpty, end) = (false, nil)
        entries.append(entry)
        settleOldest()
    }

    private mutating func beginMessage(_ entry: inout Entry) {
        text += Self.paragraph
        openStart = text.count
        (entry.start, entry.beginsMessage) = (openStart, true)
    }

    private mutating func replaceOpen(with bytes: ArraySlice<UInt8>, sharing shared: Int) {
        if openStart + shared < text.count { cut(to: openStart + shared) }
        text += bytes.dropFirst(shared)
    }

    private mutating func cut(to count: Int) {
        text.removeSubrange(count...)
        kept = kept.map { min($0, count) }
    }

    /// The entry's frame has the whole open message, so the message's other entries are not needed.
    private mutating func standForMessage(_ entry: inout Entry) {
        (entry.start, entry.beginsMessage) = (openStart, true)
        if settled.sequence > .min, openStart <= settled.openStart {
            entry.first = settled.sequence + 1
            settled.openStart = openStart
            entries.removeAll()
        } else if let place = entries.firstIndex(where: { $0.beginsMessage && $0.start >= openStart }) {
            entry.first = min(entry.first, entries[place].first)
            entries.removeSubrange(place...)
        }
    }

    /// A frame that newer frames overtook, or a repeated frame.
    private mutating func insert(_ frame: Frame, sequence: Int64) {
        guard sequence > settled.sequence, let place = entries.firstIndex(where: { $0.last >= sequence }),
            entries[place].first > sequence
        else { return }
        let later = entries[place...]
        if form == .whole, later.contains(where: { if case .sofar = $0.frame { true } else { false } }) { return }
        let start = entries[place].start
        let ends = later.dropFirst().map { $0.beginsMessage ? Self.end(before: $0.start) : $0.start } + [text.count]
        let rest = Array(text[start...])
        cut(to: entries[place].beginsMessage ? Self.end(before: start) : start)
        entries.removeSubrange(place...)
        openStart = entries.last { $0.beginsMessage }?.start ?? settled.openStart
        isEmpty = entries.isEmpty && settled.sequence == .min
        let newestEnd = end
        end = later[place].follows
        append(frame, first: sequence, last: sequence)
        for (entry, stop) in zip(later, ends) {
            let bytes = rest[entry.start - start..<stop - start]
            end = entry.follows.flatMap { newest < $0 ? $0 : nil }
            append(entry.frame.with(bytes), first: entry.first, last: entry.last)
        }
        end = newestEnd
    }

    private mutating func settleOldest() {
        guard entries.count > 4 * ActivityLimits.reorderWindow else { return }
        let oldest = entries.prefix(2 * ActivityLimits.reorderWindow)
        settled.openStart = oldest.last { $0.beginsMessage }?.start ?? settled.openStart
        settled.sequence = oldest.last?.last ?? settled.sequence
        entries.removeFirst(oldest.count)
    }
}
