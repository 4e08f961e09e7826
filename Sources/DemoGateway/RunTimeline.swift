/// A script as a sequence of small beats, each with the pause before it.
struct RunTimeline {
    enum Beat {
        case start
        case think(String)
        case text(String)
        /// Writes the assistant's message with its calls into the transcript.
        case commitCalls([PlannedCall])
        case toolStart(PlannedCall)
        case toolUpdate(PlannedCall, output: String)
        case toolResult(PlannedCall)
        case burst(count: Int, perSecond: Int, stream: DemoScript.BurstStream)
        case fail(DemoScript.ProviderFailure)
        case sayOutput
        case silent
        case finishing
        case end
    }

    struct PlannedCall {
        var id: String
        var call: DemoScript.ToolCall
    }

    /// The most pieces of a streamed text: with cumulative frames the bytes sent grow with pieces x length.
    private static let pieceLimit = 200

    private(set) var beats: [(delayMs: Int, beat: Beat)] = []

    init(_ script: DemoScript, callID: () -> String) {
        beats.append((0, .start))
        var pause = 0
        for step in script.steps {
            switch step {
            case .pause(let ms): pause += ms
            case .think(let text): beats.append((0, .think(text)))
            case .say(let text, let wordMs):
                for piece in RunTimeline.pieces(of: text) { append(.text(piece), after: &pause, wordMs) }
            case .tools(let calls):
                let planned = calls.map { PlannedCall(id: callID(), call: $0) }
                append(.commitCalls(planned), after: &pause, 20)
                appendParallel(planned)
            case .fail(let failure): append(.fail(failure), after: &pause, 30)
            case .sayOutput: append(.sayOutput, after: &pause, 20)
            case .silent: append(.silent, after: &pause, 0)
            case .burst(let count, let perSecond, let stream):
                append(.burst(count: count, perSecond: perSecond, stream: stream), after: &pause, 0)
            }
        }
        append(.finishing, after: &pause, 30)
        append(.end, after: &pause, 25)
    }

    private mutating func append(_ beat: Beat, after pause: inout Int, _ delay: Int) {
        beats.append((pause + delay, beat))
        pause = 0
    }

    private mutating func appendParallel(_ calls: [PlannedCall]) {
        var moments: [(at: Int, beat: Beat)] = []
        for (place, planned) in calls.enumerated() {
            var at = place * 30
            moments.append((at, .toolStart(planned)))
            let end = at + max(planned.call.durationMs, 1)
            for update in planned.call.updates {
                at += update.afterMs
                if at < end { moments.append((at, .toolUpdate(planned, output: update.output))) }
            }
            moments.append((end, .toolResult(planned)))
        }
        // By time, and at the same time in their order, so that each call's own beats stay in sequence.
        let ordered = moments.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        var last = 0
        for (_, moment) in ordered {
            beats.append((moment.at - last, moment.beat))
            last = moment.at
        }
    }

    /// Inserts a text before the beat at `place`.
    mutating func say(_ text: String, at place: Int) {
        let pieces = RunTimeline.pieces(of: text).map { (delayMs: 40, beat: Beat.text($0)) }
        beats.insert(contentsOf: pieces, at: place)
    }

    /// Adds a text as the last one; false if the run has nothing more to say.
    mutating func sayAtEnd(_ text: String, from place: Int) -> Bool {
        let end = beats.indices.first { index in
            if index >= place, case .finishing = beats[index].beat { return true }
            return false
        }
        if let end { say(text, at: end) }
        return end != nil
    }

    /// Changes the next beats for a call whose command does not run now: its result follows at once.
    mutating func endAtOnce(_ callID: String, from place: Int, after delay: Int) {
        let later = beats[place...].filter { entry in
            if case .toolUpdate(let planned, _) = entry.beat { return planned.id != callID }
            return true
        }
        beats.replaceSubrange(place..., with: later)
        let result = beats.indices.first { index in
            if index >= place, case .toolResult(let planned) = beats[index].beat { return planned.id == callID }
            return false
        }
        if let result { beats[result].delayMs = delay }
    }

    /// Splits a text into words with their preceding blanks, or into larger pieces if it is long.
    private static func pieces(of text: String) -> [String] {
        var words: [Substring] = []
        var start = text.startIndex
        var sawWord = false
        var place = start
        while place < text.endIndex {
            let isBlank = text[place] == " " || text[place] == "\n"
            if isBlank, sawWord {
                words.append(text[start..<place])
                start = place
                sawWord = false
            }
            if !isBlank { sawWord = true }
            place = text.index(after: place)
        }
        if start < text.endIndex { words.append(text[start...]) }
        let group = max(1, (words.count + pieceLimit - 1) / pieceLimit)
        guard group > 1 else { return words.map(String.init) }
        return stride(from: 0, to: words.count, by: group).map { first in
            words[first..<min(first + group, words.count)].joined()
        }
    }
}
