import Gateway

/// The texts of one run's thoughts. Events bring a thought in pieces and the transcript brings it whole; each thought counts once.
struct ThoughtTexts: Sendable {
    /// The thoughts that came as events.
    private var streams: [TextAssembler] = []
    /// The keys of the thoughts that only the transcript has.
    private(set) var rowKeys: Set<String> = []

    var byteCount: Int { streams.reduce(0) { $0 + $1.text.count } }

    /// Takes a piece of a thought, or the whole thought so far.
    /// - Returns: the thought's number, from 1, and its text; nil if the event has no text or the run has too many thoughts.
    mutating func take(_ thought: AgentEvent.Text, sequence: Int64) -> (number: Int, text: String)? {
        let frame: TextAssembler.Frame
        if let text = thought.soFar, !text.isEmpty {
            frame = .sofar(text)
        } else if let delta = thought.delta, !delta.isEmpty {
            frame = .piece(delta)
        } else {
            return nil
        }
        guard let place = place(of: frame) else { return nil }
        streams[place].take(frame, sequence: sequence)
        let bytes = streams[place].open.prefix(4 * ActivityLimits.thinkingCharacters)
        return (place + 1, Self.withoutHeading(String(decoding: bytes, as: UTF8.self)))
    }

    /// Takes a thought from the transcript.
    /// - Returns: whether the thought is new: it came neither as events nor in an earlier row.
    mutating func take(row text: String, key: String) -> Bool {
        let words = Self.words(text)
        let isLive = streams.contains { Self.words(String(decoding: $0.open, as: UTF8.self)) == words }
        return !isLive && rowKeys.count < GatewayLimits.historyRows && rowKeys.insert(key).inserted
    }

    /// The place of the thought that a frame continues, or of a new thought; nil if the run has too many.
    private mutating func place(of frame: TextAssembler.Frame) -> Int? {
        let words = Self.words(String(decoding: frame.bytes, as: UTF8.self))
        let known = streams.lastIndex { thought in
            guard case .sofar = frame else { return true }
            let known = Self.words(String(decoding: thought.open, as: UTF8.self))
            return words.hasPrefix(known) || known.hasPrefix(words)
        }
        if let known { return known }
        guard streams.count < ActivityLimits.stepsPerRun else { return nil }
        streams.append(TextAssembler(.whole, limit: ActivityLimits.thoughtBytes))
        return streams.count - 1
    }

    /// Only the letters and digits, because streamed reasoning has marks that the transcript does not have.
    private static func words(_ text: String) -> String {
        var words = text.lowercased().filter { $0.isLetter || $0.isNumber }.prefix(200)
        if words.hasPrefix("reasoning") { words = words.dropFirst(9) }
        return String(words.prefix(180))
    }

    /// The gateway puts a heading line before streamed reasoning.
    private static func withoutHeading(_ text: String) -> String {
        let lines = text.split(maxSplits: 1, omittingEmptySubsequences: true, whereSeparator: \.isNewline)
        guard lines.count > 1,
            ["reasoning:", "thinking:"].contains(lines[0].lowercased().filter { $0 != "*" && $0 != "_" })
        else { return text }
        return String(lines[1])
    }
}
