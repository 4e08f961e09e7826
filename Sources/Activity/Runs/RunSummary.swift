import Basics

/// Short texts about a run that need no model.
package enum RunSummary {
    /// The first clause of what was asked: at most 6 words and 40 characters, without punctuation at its end.
    package static func title(ofMessage text: String) -> String {
        let line = LabelText.collapsed(InboundEnvelope.stripped(text))
        let clause = line.prefix { !".!?;:,\n".contains($0) }
        var title = ""
        for word in (clause.isEmpty ? line[...] : clause).split(separator: " ").prefix(6) {
            let next = title.isEmpty ? String(word) : "\(title) \(word)"
            guard next.count <= 40 else { break }
            title = next
        }
        if title.isEmpty { title = line.cut(to: 40) }
        while let last = title.last, ".!?;:,-–—".contains(last) { title.removeLast() }
        return SecretMask.text(title)
    }

    /// The first sentence of the reply, at most 80 characters.
    package static func completion(ofReply text: String) -> String {
        let first =
            text.split(whereSeparator: \.isNewline).lazy.compactMap { ThinkingLabel.text(of: String($0)) }.first ?? ""
        var sentence = ""
        for word in first.split(separator: " ") {
            sentence += sentence.isEmpty ? String(word) : " \(word)"
            if let last = word.last, ".!?".contains(last), word.count > 2 { break }
        }
        return LabelText.limited(SecretMask.text(sentence))
    }

    /// `Worked for 1m 23s · 7 steps`
    package static func work(_ run: Run) -> String? {
        guard let end = run.endedAt, !run.steps.isEmpty else { return nil }
        let milliseconds = max(end.milliseconds - run.startedAt.milliseconds, 0)
        let count = run.steps.count == 1 ? "1 step" : "\(run.steps.count) steps"
        return "Worked for \(DurationText.of(milliseconds: milliseconds)) · \(count)"
    }
}
