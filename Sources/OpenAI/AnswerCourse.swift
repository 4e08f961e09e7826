/// The answer to one message as it grows: the text, and at which place of the text a step was told. Everything that a client sees is computed
/// from it, so that a client which comes back gets the rest under the same numbers, after a restart of Ladle too.
///
/// The text that a run shows may be started anew, by gateways that try a run again. Text that was shown cannot be taken back, so a different
/// text follows behind the first one.
package struct AnswerCourse: Sendable, Equatable {
    /// Something at a place of the text, which is counted in Unicode scalars.
    package struct Mark: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            /// A line about the agent's work.
            case note(String)
            /// A new text begins.
            case replaced
            /// Numbers go on from this place, because it is not known how far an earlier process had got.
            case jump(to: Int)
        }

        package let at: Int
        package let kind: Kind

        package init(at: Int, _ kind: Kind) {
            self.at = at
            self.kind = kind
        }
    }

    package enum End: Sendable, Equatable {
        case completed(AnswerUsage?)
        case failed(OpenAIError)
        /// A person or the client stopped it.
        case cancelled(OpenAIError)
    }

    /// The most steps that are told; a run of more goes on without.
    private static let mostNotes = 512
    private static let longestNote = 400
    /// The gateway gives a run up after a few tries.
    private static let mostReplacements = 8
    /// More text than Ladle keeps of a run.
    private static let mostBytes = 4 << 20
    /// How much text may follow before the place has to be on disk.
    private static let stride = 8_192

    package private(set) var marks: [Mark] = []
    /// UTF-8, without the text that an earlier process knew.
    package private(set) var bytes: [UInt8] = []
    /// The length of the whole text.
    package private(set) var count = 0
    /// The text before this place is not known any more.
    package private(set) var lost = 0
    package private(set) var end: End?
    /// The end is on disk, or need not be.
    private var isEndSettled = false
    /// Text beyond this place is not shown before a greater limit is on disk.
    package private(set) var limit: Int
    /// The marks that are on disk, or need not be.
    private var settledMarks = 0
    /// The process before may have shown text up to here.
    private var shownBefore = 0
    /// Notes that come at a place which is not known yet.
    private var pending: [String] = []
    /// The beginning of the present text in `bytes`.
    private var start = 0
    /// The run's text is exactly the present one.
    private var isLevel = true
    private var units = 0
    private let isKept: Bool

    /// - Parameter isKept: marks and limit are written to disk before they count.
    package init(isKept: Bool = false) {
        self.isKept = isKept
        limit = isKept ? Self.stride : .max
    }

    /// The course that an earlier process wrote. The text up to `lost` is gone; the rest comes again.
    package init(resuming marks: [Mark], limit: Int) {
        isKept = true
        self.marks = marks
        self.limit = limit
        settledMarks = marks.count
        shownBefore = limit
        lost = marks.last { $0.kind == .replaced }?.at ?? 0
        count = lost
    }

    // MARK: What happens

    /// Text follows at this place, in the UTF-16 units of events.
    /// - Returns: false if the run's whole text is needed, because a piece is missing.
    package mutating func take(_ text: String, at offset: Int, replaces: Bool) -> Bool {
        guard !replaces, isLevel, offset == units else { return false }
        append(Array(text.utf8)[...])
        units += text.utf16.count
        return true
    }

    /// The run's whole text.
    package mutating func take(whole text: String) {
        let new = Array(text.utf8)
        let old = bytes[start...]
        var common = 0
        while common < min(old.count, new.count), old[start + common] == new[common] { common += 1 }
        if common == old.count {
            append(new[common...])
            isLevel = true
        } else if common == new.count {
            // A new try that says the same so far.
            isLevel = false
        } else {
            replace(with: new)
        }
        units = text.utf16.count
    }

    private mutating func replace(with new: [UInt8]) {
        guard marks.count(where: { $0.kind == .replaced }) < Self.mostReplacements else { return isLevel = false }
        marks.append(Mark(at: count, .replaced))
        start = bytes.count
        append(new[...])
        isLevel = true
    }

    private mutating func append(_ more: ArraySlice<UInt8>) {
        guard bytes.count + more.count <= Self.mostBytes else { return isLevel = false }
        bytes += more
        count += more.count { !UTF8.isContinuation($0) }
        if count >= shownBefore { placePending() }
    }

    package mutating func note(_ line: String) {
        guard end == nil, marks.count + pending.count < Self.mostNotes else { return }
        let line = Self.clean(line)
        guard !line.isEmpty else { return }
        if count < shownBefore { pending.append(line) } else { marks.append(Mark(at: count, .note(line))) }
    }

    private mutating func placePending() {
        for line in pending { marks.append(Mark(at: count, .note(line))) }
        pending = []
    }

    private static func clean(_ line: String) -> String {
        let words = line.split(whereSeparator: \.isNewline).joined(separator: " ")
        return words.utf8.count > longestNote ? String(words.prefix(longestNote / 4 * 3)) + "…" : words
    }

    package mutating func finish(_ end: End) {
        guard self.end == nil else { return }
        placePending()
        if count < shownBefore { marks.append(Mark(at: count, .jump(to: shownBefore))) }
        shownBefore = 0
        self.end = end
    }

    /// The end of a run turned out to be another one.
    package mutating func correct(_ end: End) { self.end = end }

    // MARK: The disk

    /// Whether marks, limit or end have to be written now.
    package var wantsKeeping: Bool {
        guard isKept else { return false }
        return settledMarks < marks.count || (end == nil ? isNearLimit : !isEndSettled)
    }

    private var isNearLimit: Bool { count + Self.stride / 4 > limit }

    /// The limit to be written with the marks. That of an answer which is over is its length, so that it is read the same again.
    package var wantedLimit: Int { end == nil ? isNearLimit ? count + Self.stride : limit : count }

    /// So many marks and this limit are on disk now; or the disk failed, and after a restart the numbers of a stream may differ.
    package mutating func settled(marks count: Int, limit: Int, isOver: Bool) {
        settledMarks = max(settledMarks, min(count, marks.count))
        self.limit = max(self.limit, limit)
        isEndSettled = isEndSettled || isOver
    }

    var visibleMarks: Int { isKept ? settledMarks : marks.count }
    /// Whether a reader at this place has seen all there is.
    package func isAtEnd(mark: Int, scalar: Int) -> Bool { isOver && mark == marks.count && scalar == count }
    /// Whether readers may be told of the end.
    package var isOver: Bool { end != nil && (isEndSettled || !isKept) }

    /// The end of the text that a reader may see whose next mark is this one.
    func visibleEnd(beforeMark place: Int) -> Int {
        let end = place < marks.count ? marks[place].at : count
        // The limit holds only while the run may still tell of more.
        return self.end == nil ? min(end, limit) : end
    }

    /// The whole text, one text behind the other.
    package var text: String {
        var text = ""
        for piece in CourseReader.pieces(of: self) {
            switch piece {
            case .text(let more): text += more
            case .replaced: if !text.isEmpty { text += Self.separator }
            case .note, .skipped, .jump: break
            }
        }
        return text
    }

    /// Between a text and the one that follows it.
    package static let separator = "\n\n"
}

/// The tokens that a run took.
package struct AnswerUsage: Sendable, Equatable {
    package let input: Int64
    package let output: Int64
    package let cacheRead: Int64
    package let cacheWrite: Int64

    package init(input: Int64, output: Int64, cacheRead: Int64, cacheWrite: Int64) {
        self.input = input
        self.output = output
        self.cacheRead = cacheRead
        self.cacheWrite = cacheWrite
    }

    /// The prompt as OpenAI counts it: with the cached part.
    package var prompt: Int64 { input + cacheRead + cacheWrite }
    package var total: Int64 { prompt + output }
}

/// A reader's way through a course.
package struct CourseReader: Sendable {
    package enum Piece: Sendable, Equatable {
        case text(String)
        case note(String)
        case replaced
        case jump(by: Int)
        /// Text that is not known any more.
        case skipped(Int)
    }

    /// The most text of one piece, in scalars.
    private static let longest = 4_096

    package private(set) var scalar = 0
    package private(set) var mark = 0
    private var byte = 0

    package init() {}

    /// The next piece; nil if there is none yet, or no more.
    /// - Parameter most: the most text that is wanted.
    package mutating func next(of course: AnswerCourse, most: Int = Self.longest) -> Piece? {
        if scalar < course.lost, mark >= course.marks.count || course.marks[mark].at > scalar {
            let end = min(course.lost, mark < course.marks.count ? course.marks[mark].at : course.lost)
            defer { scalar = end }
            return .skipped(end - scalar)
        }
        if mark < course.visibleMarks, course.marks[mark].at <= scalar {
            let found = course.marks[mark]
            mark += 1
            switch found.kind {
            case .note(let line): return .note(line)
            case .replaced: return .replaced
            case .jump(let place): return .jump(by: place - found.at)
            }
        }
        let end = course.visibleEnd(beforeMark: mark)
        guard scalar < end else { return nil }
        let first = byte
        let last = min(end, scalar + min(most, Self.longest))
        while scalar < last {
            byte += 1
            while byte < course.bytes.count, UTF8.isContinuation(course.bytes[byte]) { byte += 1 }
            scalar += 1
        }
        return .text(String(decoding: course.bytes[first..<byte], as: UTF8.self))
    }

    package func isAtEnd(of course: AnswerCourse) -> Bool { course.isAtEnd(mark: mark, scalar: scalar) }

    /// The text that the reader has seen; nil if there is none, or part of it is not known any more.
    package func seen(of course: AnswerCourse) -> String? {
        guard byte > 0, course.lost == 0, !course.marks.prefix(mark).contains(where: { $0.kind == .replaced }) else {
            return nil
        }
        return String(decoding: course.bytes[..<byte], as: UTF8.self)
    }

    package static func pieces(of course: AnswerCourse) -> [Piece] {
        var (reader, pieces) = (CourseReader(), [Piece]())
        while let piece = reader.next(of: course) { pieces.append(piece) }
        return pieces
    }
}
