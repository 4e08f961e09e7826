/// Pieces of text that a chat event lacks. April gateways leave out a piece that equals the piece before: "very very" comes as "very", and
/// indented code with too few blanks. Their agent events and the rows of the transcript have both.
struct LostRepeats {
    /// The longest such piece, in bytes. Models stream a word or so at a time.
    private static let longestPiece = 128

    private let whole: ArraySlice<UInt8>
    /// How many bytes may still be compared, so that a text of another kind costs little more than its length.
    private var budget: Int

    /// Whether `text` is `whole` without some pieces that repeat what stands before them, and without its breaks between messages.
    static func explain(_ text: ArraySlice<UInt8>, of whole: ArraySlice<UInt8>) -> Bool {
        var repeats = LostRepeats(whole: whole, budget: 8 * whole.count + 65_536)
        var (place, found) = (whole.startIndex, text.startIndex)
        while place < whole.endIndex {
            if found < text.endIndex, whole[place] == text[found] {
                (place, found) = (place + 1, found + 1)
            } else {
                let next = found < text.endIndex ? text[found] : nil
                guard let end = repeats.end(ofRepeatAt: place, before: next) else { return false }
                place = end
            }
        }
        return found == text.endIndex
    }

    /// Where what is left out at `place` ends: `next` comes behind it, or with nil the text does.
    private mutating func end(ofRepeatAt place: Int, before next: UInt8?) -> Int? {
        let paragraph = TextAssembler.paragraph
        let behind = whole[place...].dropFirst(paragraph.count)
        if next != nil, behind.first == next, whole[place...].starts(with: paragraph) { return behind.startIndex }
        for piece in 1...Self.longestPiece where place - piece >= whole.startIndex {
            var end = place
            while end < whole.endIndex, whole[end] == whole[end - piece] {
                end += 1
                budget -= 1
                guard budget > 0 else { return nil }
                guard (end - place).isMultiple(of: piece) else { continue }
                if end < whole.endIndex ? whole[end] == next : next == nil { return end }
            }
        }
        return nil
    }
}
