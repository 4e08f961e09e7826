/// Turns the running form of a label into the completed one.
package enum PastTense {
    /// `Appending to a.md` becomes `Updated a.md`; only the first word changes.
    package static func of(_ active: String) -> String {
        if active.hasPrefix("Appending to ") { return "Updated " + active.dropFirst("Appending to ".count) }
        let end = active.firstIndex(of: " ") ?? active.endIndex
        guard let past = word(String(active[..<end])) else { return active }
        return past + active[end...]
    }

    /// For a thought: its first word changes only if it is certainly a verb.
    static func ofThought(_ text: String) -> String {
        let end = text.firstIndex(of: " ") ?? text.endIndex
        let first = String(text[..<end])
        if nouns.contains(first.lowercased()) { return text }
        guard end != text.endIndex, first.first?.isUppercase == true else { return text }
        return of(text)
    }

    private static func word(_ verb: String) -> String? {
        if let known = irregular[verb] { return known }
        guard verb.hasSuffix("ing"), verb.count > 4 else { return nil }
        let stem = verb.dropLast(3)
        let vowels: Set<Character> = ["a", "e", "i", "o", "u"]
        if stem.last == "y", let before = stem.dropLast().last, !vowels.contains(before) {
            return stem.dropLast() + "ied"
        }
        return stem + "ed"
    }

    private static let irregular: [String: String] = [
        "Writing": "Wrote", "Reading": "Read", "Running": "Ran", "Building": "Built", "Taking": "Took",
        "Getting": "Got", "Setting": "Set", "Sending": "Sent", "Thinking": "Thought", "Waking": "Woke",
        "Making": "Made", "Finding": "Found", "Giving": "Gave", "Keeping": "Kept", "Choosing": "Chose",
        "Going": "Went", "Putting": "Put", "Cutting": "Cut", "Drawing": "Drew", "Bringing": "Brought",
        "Telling": "Told", "Seeing": "Saw", "Doing": "Did", "Coming": "Came", "Understanding": "Understood",
        "Beginning": "Began", "Breaking": "Broke", "Speaking": "Spoke", "Leaving": "Left", "Holding": "Held",
        "Showing": "Showed", "Picking": "Picked", "Splitting": "Split", "Rewriting": "Rewrote", "Rebuilding": "Rebuilt",
        "Resetting": "Reset", "Rerunning": "Reran", "Weighing": "Weighed", "Buying": "Bought", "Paying": "Paid",
        "Spending": "Spent", "Losing": "Lost", "Meeting": "Met", "Hearing": "Heard", "Feeling": "Felt",
        "Knowing": "Knew", "Growing": "Grew", "Throwing": "Threw", "Hiding": "Hid", "Driving": "Drove",
        "Redoing": "Redid", "Undoing": "Undid",
    ]

    private static let nouns: Set<String> = [
        "nothing", "something", "everything", "anything", "morning", "evening", "during", "according", "regarding",
        "spring", "string", "king", "thing", "being", "having", "wedding", "building", "meeting", "ceiling",
        "including", "assuming", "given", "interesting", "following", "existing", "missing", "working", "depending",
    ]
}
