import Basics
import Gateway
import Labels

/// The text of one run, from agent events, chat events, pages and rows. Only one source is shown at a time. Differences from the
/// published text become changes.
struct RunText: Sendable {
    private(set) var agentText = TextAssembler(.messages)
    private(set) var chatText = TextAssembler(.whole)
    /// The text of the final chat event, which overrides the streams. After an abort, the text of the abort event counts instead.
    private var finalText: [UInt8]?
    private var isFinalCut = false
    private var abortedText: [UInt8]?
    /// The text so far, from a page of the transcript.
    private var snapshot: [UInt8] = []
    /// The texts of the run's assistant rows. A message that called a tool has ended.
    private var rowTexts: [(row: String, text: [UInt8], hasEnded: Bool)] = []
    /// The gateway has cut the text of the last assistant row, or left it out.
    private var isLastRowCut = false
    /// Ladle has cut the published text.
    private var isLimited = false
    private(set) var publishedText: [UInt8] = []
    private var publishedUnits = 0
    /// How many bytes were compared to find the differences. A stream that only grows needs no comparison.
    private(set) var comparedBytes = 0
    /// An earlier process may have published more than is known here, so the next text replaces all of it.
    private var replacesEarlier = false
    /// Events of the run were missed, or may have been: only the rows show which messages have ended.
    private var mayLackMessages = true

    // MARK: Reading

    var published: String { String(decoding: publishedText, as: UTF8.self) }
    /// The gateway reported some of the text while the run was under way.
    var wasReported: Bool { agentText.hasFrames || !chatText.isEmpty || !snapshot.isEmpty }
    /// The published text is not whole, as far as known: the final event has it whole, and a row does not have what the gateway cut.
    var isTruncated: Bool { isLimited || (finalText == nil ? isLastRowCut : isFinalCut) }
    /// The final event had the text.
    var isWhole: Bool { finalText != nil }
    /// This process of Ladle knows nothing of the text.
    var isUnknown: Bool { publishedText.isEmpty && rowTexts.isEmpty && snapshot.isEmpty }

    /// An estimate of its memory in bytes. The published text counts once more for the copy on its way to the subscribers.
    var weight: Int {
        let known = rowTexts.reduce(snapshot.count) { $0 + $1.text.count } + (finalText?.count ?? 0)
        return agentText.text.count + chatText.text.count + known + 2 * publishedText.count
    }

    // MARK: Sources

    mutating func take(_ text: AgentEvent.Text, sequence: Int64) {
        let replaces = text.replaces
        if let soFar = text.soFar, !(soFar.isEmpty && !replaces) {
            agentText.take(replaces ? .replacement(soFar) : .sofar(soFar), sequence: sequence)
        } else if let delta = text.delta, !delta.isEmpty || replaces {
            agentText.take(replaces ? .replacement(delta) : .piece(delta), sequence: sequence)
        }
        if mayLackMessages, agentText.open.count < Self.compared { takeEndedRows() }
    }

    /// The start of the run was seen, so no message of it was missed.
    mutating func startSeen() { mayLackMessages = false }

    mutating func eventsMissed() { mayLackMessages = true }

    /// The agent called a tool.
    mutating func endMessage(sequence: Int64) { agentText.endMessage(sequence: sequence) }

    /// A message has the whole text so far. Without a message, `deltaText` is added to the text or replaces it.
    mutating func takeDelta(_ event: ChatEvent, sequence: Int64) {
        if let text = event.message?.onlyText {
            chatText.take(.sofar(text), sequence: sequence)
        } else if let text = event.message?.text {
            chatText.take(.sofar(ArraySlice(ReplyText.clean(text).utf8)), sequence: sequence)
        } else if let piece = event.deltaText {
            chatText.take(event.replaces ? .replacement(piece) : .piece(piece), sequence: sequence)
        }
    }

    mutating func ended(with text: String?) {
        guard let text, !text.isEmpty else { return }
        finalText = Array(text.utf8)
        isFinalCut = text.utf16.count == GatewayLimits.eventText
    }

    /// The rows of the run's turn have the whole answer. What was said before a stop is no part of it.
    mutating func correct(to rows: [TranscriptRow]) {
        let start = rows.lastIndex { $0.isAbortNote || $0.stopReason == .aborted || $0.stopReason == .error }
        let answer = rows[(start.map { $0 + 1 } ?? 0)...].filter { $0.role == .assistant && !$0.isInjected }
        (finalText, isFinalCut) = (Array(Self.paragraphs(answer.map { Array(ReplyText.clean($0.text).utf8) })), false)
    }

    mutating func aborted(with text: String?) {
        if let text, !text.isEmpty { abortedText = Array(text.utf8) }
    }

    mutating func take(snapshot text: String) {
        snapshot = Array(Self.limited(ArraySlice(text.utf8)))
        agentText.keep(false)
        chatText.keep(false)
    }

    mutating func forgetSnapshot() { snapshot = [] }

    /// Goes on with a text that an earlier process kept.
    mutating func resume(with text: String, isTruncated: Bool) {
        take(snapshot: text)
        isLastRowCut = isTruncated
        publishedText = snapshot
        publishedUnits = text.utf16.count
        replacesEarlier = true
    }

    /// The rows of the run's own turn.
    mutating func take(_ rows: [TranscriptRow]) {
        for row in rows where row.role == .assistant && !row.text.isEmpty && row.stopReason != .error {
            let shown = row.cutText
            isLastRowCut = shown != nil
            if shown?.isEmpty == true { continue }
            let text = Array(Self.limited(ArraySlice(ReplyText.clean(shown ?? row.text).utf8)))
            if row.isAbortNote, takeNote(text[...], of: row.identity) { continue }
            if let known = rowTexts.firstIndex(where: { $0.row == row.identity }) {
                rowTexts[known].text = text
            } else if rowTexts.last?.text != text, rowTexts.count < GatewayLimits.historyRows {
                rowTexts.append((row.identity, text, row.stopReason == .toolUse))
            }
        }
        sort(as: rows)
        if mayLackMessages { takeEndedRows() }
    }

    /// Puts the known rows into the order of a page: a row may have come as an event before those in front of it were read.
    private mutating func sort(as rows: [TranscriptRow]) {
        guard rows.count > 1, rowTexts.count > 1 else { return }
        let order = Dictionary(rows.enumerated().map { ($1.identity, $0) }, uniquingKeysWith: { first, _ in first })
        let places = rowTexts.indices.filter { order[rowTexts[$0].row] != nil }
        let sorted = places.map { rowTexts[$0] }.sorted { order[$0.row, default: 0] < order[$1.row, default: 0] }
        for (place, row) in zip(places, sorted) { rowTexts[place] = row }
    }

    /// Puts the messages of the rows before the message that still grows, where events of them were missed.
    private mutating func takeEndedRows() {
        guard !rowTexts.isEmpty, agentText.hasFrames || (chatText.isEmpty && snapshot.isEmpty),
            agentText.isOpenFromStart
        else { return }
        var ended = rowTexts.prefix { $0.hasEnded }.map { Self.withoutEnd($0.text) }.filter {
            !SilentReply.matches($0[...])
        }
        let (open, closed) = (agentText.open, agentText.closed)
        if !open.isEmpty, let own = ended.lastIndex(where: { Self.beginAlike($0[...], open) }) {
            ended.removeSubrange(own...)
        }
        let text = Self.paragraphs(ended)
        // A page may be older than the stream.
        guard !text.isEmpty, Self.rest(of: closed, behind: ended) == nil, Self.shows(text, endOf: closed) else {
            return
        }
        agentText.replaceClosed(with: text)
    }

    private static func beginAlike(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) -> Bool {
        zip(one.lazy.filter(isInk), other.lazy.filter(isInk)).prefix(compared).allSatisfy { $0 == $1 }
    }

    /// Whether the last characters of a text stand in another.
    private static func shows(_ text: ArraySlice<UInt8>, endOf other: ArraySlice<UInt8>) -> Bool {
        let end = other.filter(isInk).suffix(beginning)
        let ink = text.filter(isInk)
        return end.isEmpty || ink.indices.contains { ink[$0...].starts(with: end) }
    }

    /// The note of an abort repeats the row before it, on June gateways all rows without a break, with other blanks, and may say more.
    /// False if it repeats neither.
    private mutating func takeNote(_ note: ArraySlice<UInt8>, of row: String) -> Bool {
        guard let last = rowTexts.last else { return false }
        let behindOthers = Self.rest(of: note, behind: rowTexts.dropLast().map(\.text))
        for own in [behindOthers, note].compactMap(\.self) {
            guard let more = Self.rest(of: own, behind: [last.text]) else { continue }
            if !last.hasEnded || more.isEmpty || last.row == row {
                rowTexts[rowTexts.count - 1].text = Array(own)
            } else if rowTexts.count < GatewayLimits.historyRows {
                rowTexts.append((row, Array(more), true))
            }
            return true
        }
        return false
    }

    /// The run begins again. The published text stays until new text replaces it.
    mutating func beginAgain() {
        agentText = TextAssembler(.messages)
        chatText = TextAssembler(.whole)
        (finalText, abortedText, snapshot, rowTexts) = (nil, nil, [], [])
        (isFinalCut, isLastRowCut, isLimited, mayLackMessages) = (false, false, false, true)
    }

    // MARK: Publishing

    /// Sets the published text to the whole text, for a run whose end is corrected.
    mutating func settle(wasAborted: Bool) {
        publishedText = Array(Self.limited(visible(isFinal: true, wasAborted: wasAborted).text))
    }

    mutating func publish(of run: String, isFinal: Bool, wasAborted: Bool, to changes: inout [RunChange]) {
        var (text, isStream) = visible(isFinal: isFinal, wasAborted: wasAborted)
        isLimited = text.count > ActivityLimits.runTextBytes
        text = Self.limited(text)
        if continuesPublished(text, isStream: isStream), !replacesEarlier || text.isEmpty {
            let new = text.dropFirst(publishedText.count)
            if !new.isEmpty {
                let piece = String(decoding: new, as: UTF8.self)
                changes.append(.textAppended(run: run, offset: publishedUnits, text: piece))
                publishedUnits += piece.utf16.count
                publishedText += new
            }
        } else {
            let whole = String(decoding: text, as: UTF8.self)
            changes.append(.textReplaced(run: run, text: whole))
            replacesEarlier = false
            publishedUnits = whole.utf16.count
            publishedText = Array(text)
        }
        if isAgents { agentText.keep(isStream) } else { chatText.keep(isStream) }
    }

    private var stream: TextAssembler { isAgents ? agentText : chatText }
    private var isAgents: Bool { agentText.hasFrames || chatText.isEmpty }

    /// The published text was the beginning of the stream's text, and the stream has only grown since.
    private var isFollowing: Bool { stream.kept.map { $0 >= publishedText.count } ?? false }

    private mutating func continuesPublished(_ text: ArraySlice<UInt8>, isStream: Bool) -> Bool {
        if text.count < publishedText.count { return false }
        if isStream, isFollowing { return true }
        comparedBytes += publishedText.count
        return text.hasBytes(publishedText[...])
    }

    /// Cuts a long text between two code points.
    private static func limited(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard text.count > ActivityLimits.runTextBytes else { return text }
        var end = text.startIndex + ActivityLimits.runTextBytes
        while end > text.startIndex, text[end] & 0xC0 == 0x80 { end -= 1 }
        return text[..<end]
    }

    /// The text from the first source that has one: the terminal event, agent events, chat events, the transcript.
    private func visible(isFinal: Bool, wasAborted: Bool) -> (text: ArraySlice<UInt8>, isStream: Bool) {
        if let last = wasAborted ? abortedText : finalText {
            return (SilentReply.matches(last[...]) ? [] : whole(last[...]), false)
        }
        let stream = stream
        let isHeld = isFinal ? SilentReply.matches(stream.open) : SilentReply.mayBecome(stream.open)
        let text = isHeld || stream.open.isEmpty ? stream.closed : stream.text[...]
        // A longer stream is no beginning of the snapshot if it was none before.
        if !isFinal, isFollowing, text.count >= publishedText.count { return (text, true) }
        let known = isFinal ? completed(text, stream) : text
        if snapshot.count > known.count, snapshot[...].hasBytes(known), !SilentReply.mayBecome(snapshot[...]) {
            return (snapshot[...], false)
        }
        return (known, !isFinal)
    }

    /// Adds the end of the text from the transcript if events with the stream's end were missed.
    private func completed(_ text: ArraySlice<UInt8>, _ stream: TextAssembler) -> ArraySlice<UInt8> {
        guard let last = rowTexts.last?.text, !SilentReply.matches(last[...]) else { return text }
        if !stream.hasFrames { return Self.paragraphs(rowTexts.map(\.text)) }
        guard !stream.open.isEmpty, let open = rowTexts.lastIndex(where: { $0.text[...].hasBytes(stream.open) }) else {
            // A restarted gateway answered again, in other words than those with which the stream had begun.
            let isSame = stream.open.filter(Self.isInk).starts(with: last.filter(Self.isInk).prefix(Self.compared))
            // Rows that end with a call of a tool are older than the stream.
            let areOlder = rowTexts.last?.hasEnded == true
            return isSame || areOlder || isLastRowCut || stream.open.isEmpty
                ? text : Self.paragraphs(rowTexts.map(\.text))
        }
        let before = stream.closed.isEmpty ? rowTexts[..<open].map { Self.withoutEnd($0.text) } : [Array(stream.closed)]
        return Self.paragraphs(before + rowTexts[open...].map(\.text))
    }

    /// The whole text of a run that ended with this text. March gateways send the last message alone, June ones all messages without a break.
    private func whole(_ last: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if LostRepeats.explain(last, of: agentText.text[...]) { return behindClosed(agentText.open) }
        // The run was tried again, and the event has the last try alone.
        let beginning = last.lazy.filter(Self.isInk).prefix(Self.fewLetters)
        let tries = agentText.innerStarts.lazy.map { agentText.text[$0...] }.filter {
            $0.lazy.filter(Self.isInk).starts(with: beginning)
        }
        if let text = tries.prefix(Self.mostTries).first(where: { LostRepeats.explain(last, of: $0) }) { return text }
        if let start = agentText.start(in: last), LostRepeats.explain(last[start...], of: agentText.open) {
            return Self.paragraphs([Array(last[..<start]), Array(agentText.open)])
        }
        let open = agentText.open
        guard !agentText.closed.isEmpty,
            let rest = agentText.rest(of: last) ?? (!open.isEmpty && last.hasBytes(open) ? last : nil)
        else { return ofRows(last) }
        return behindClosed(rest)
    }

    /// The last message behind the ones before.
    private func behindClosed(_ last: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        agentText.closed.isEmpty ? ofRows(last) : Self.paragraphs([Array(agentText.closed), Array(last)])
    }

    /// The same, where the events of the earlier messages were missed: the rows have them.
    private func ofRows(_ last: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if rowTexts.last?.text[...] == last {
            return Self.paragraphs(rowTexts.dropLast().map { Self.withoutEnd($0.text) } + [Array(last)])
        }
        let ended = rowTexts.prefix { $0.hasEnded }.map { Self.withoutEnd($0.text) }
        guard let first = ended.first else { return last }
        if let rest = Self.rest(of: last, behind: ended) {
            return ended.count > 1 || !rest.isEmpty ? Self.paragraphs(ended + [Array(rest)]) : last
        }
        // The messages before these rows were missed too.
        if let start = Self.start(of: first, in: last), let rest = Self.rest(of: last[start...], behind: ended) {
            return Self.paragraphs([Array(last[..<start])] + ended + [Array(rest)])
        }
        // A text that begins as the first row has all messages, with repeated words left out.
        let isWhole = Self.rest(of: last, behind: [Array(first.prefix(Self.beginning))]) != nil
        return isWhole ? last : Self.paragraphs(ended + [Array(last)])
    }

    /// Without the blanks at its end.
    private static func withoutEnd(_ text: [UInt8]) -> [UInt8] {
        Array(text[..<(text.lastIndex { isInk($0) }.map { $0 + 1 } ?? 0)])
    }

    /// The part of a text behind others, which may stand in it with other blanks. Nil if it does not begin with them.
    private static func rest(of text: ArraySlice<UInt8>, behind others: [[UInt8]]) -> ArraySlice<UInt8>? {
        var rest = text
        for byte in others.joined() where isInk(byte) {
            rest = rest.drop { !isInk($0) }
            guard rest.first == byte else { return nil }
            rest = rest.dropFirst()
        }
        return others.isEmpty ? text : rest.drop { !isInk($0) }
    }

    /// Where one text begins in another that has it without a break behind what came before, as the texts of joined messages do. A quote
    /// stands behind a blank, and a short text may stand anywhere.
    private static func start(of text: [UInt8], in other: ArraySlice<UInt8>) -> Int? {
        let beginning = text.prefix(compared)
        guard beginning.count(where: isInk) >= Self.beginning else { return nil }
        return other.indices.dropFirst().first { isInk(other[$0 - 1]) && other[$0...].starts(with: beginning) }
    }

    /// Two texts with this many equal characters at the beginning are the same.
    private static let compared = 40
    private static let beginning = 12
    /// The most tries of a run that are compared with its last event: a long text costs little where nothing fits.
    private static let mostTries = 4
    private static let fewLetters = 4

    private static func isInk(_ byte: UInt8) -> Bool { byte > 0x20 }

    private static func paragraphs(_ texts: [[UInt8]]) -> ArraySlice<UInt8> {
        ArraySlice(
            texts.filter { !$0.isEmpty && !SilentReply.matches($0[...]) }.joined(separator: TextAssembler.paragraph)
        )
    }
}

extension ArraySlice<UInt8> {
    /// How many bytes both begin with. Compares blocks of 64 bytes. A block has no early exit, so that the compiler can use wide
    /// instructions.
    func sharedBytes(_ other: ArraySlice<UInt8>) -> Int {
        let left = span
        let right = other.span
        let end = Swift.min(left.count, right.count)
        var place = 0
        while place + 64 <= end {
            var difference: UInt8 = 0
            for offset in place..<place + 64 { difference |= left[offset] ^ right[offset] }
            if difference != 0 { break }
            place += 64
        }
        while place < end, left[place] == right[place] { place += 1 }
        return place
    }

    func hasBytes(_ prefix: ArraySlice<UInt8>) -> Bool { count >= prefix.count && sharedBytes(prefix) == prefix.count }
}
