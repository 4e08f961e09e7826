/// A program's arguments split into options and operands.
struct ParsedArguments {
    private(set) var options: [(name: String, value: ShellWord?)] = []
    private(set) var operands: [ShellWord] = []
    /// Whether the operands are another command with its own options.
    let stopped: Bool

    /// Short options may be clustered; the first one of a cluster that takes a value gets its rest or the next word.
    init(_ words: some Collection<ShellWord>, _ table: OptionTable.Options = OptionTable.Options()) {
        stopped = table.stopsAtOperand
        var rest = Array(words)[...]
        while let word = rest.popFirst() {
            if word.text == "--", !word.isQuoted {
                operands += rest
                return
            }
            guard word.isOption else {
                operands.append(word)
                guard stopped else { continue }
                operands += rest
                return
            }
            // `-name` as a whole, for programs with long options of one dash.
            if word.text.hasPrefix("--") || (word.text.count > 2 && table.valued.contains(word.text)) {
                long(word, table.valued, &rest)
            } else {
                cluster(word, table.valued, &rest)
            }
        }
    }

    private mutating func long(_ word: ShellWord, _ valued: Set<String>, _ rest: inout ArraySlice<ShellWord>) {
        if word.text.hasPrefix("--"), let equals = word.text.firstIndex(of: "=") {
            let value = String(word.text[word.text.index(after: equals)...])
            options.append((String(word.text[..<equals]), ShellWord(text: value, isOpaque: word.isOpaque)))
        } else {
            options.append((word.text, valued.contains(word.text) ? rest.popFirst() : nil))
        }
    }

    private mutating func cluster(_ word: ShellWord, _ valued: Set<String>, _ rest: inout ArraySlice<ShellWord>) {
        var letters = word.text.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            guard valued.contains(name) else {
                options.append((name, nil))
                continue
            }
            let value = letters.isEmpty ? rest.popFirst() : ShellWord(text: String(letters), isOpaque: word.isOpaque)
            return options.append((name, value))
        }
    }

    func has(_ names: String...) -> Bool { options.contains { names.contains($0.name) } }

    func value(_ names: String...) -> ShellWord? { options.first { names.contains($0.name) && $0.value != nil }?.value }

    /// The arguments of the sub-command that the first operand names.
    var withoutFirstOperand: ParsedArguments {
        var rest = self
        rest.operands = Array(operands.dropFirst())
        return rest
    }
}

extension Set<String> {
    /// A set written as one line of words.
    init(words: String) { self.init(words.split(separator: " ").map(String.init)) }
}
