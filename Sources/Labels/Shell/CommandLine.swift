/// A program's arguments split into options and operands.
struct CommandLine {
    private(set) var options: [(name: String, value: ShellWord?)] = []
    private(set) var operands: [ShellWord] = []

    /// `valued` lists the options that take a value (`-o --output`). Short options may be clustered; the first valued one
    /// of a cluster takes its rest or the next word. With `stopsAtOperand`, everything behind the first operand is one.
    init(_ words: some Collection<ShellWord>, valued: Set<String> = [], stopsAtOperand: Bool = false) {
        var rest = Array(words)[...]
        while let word = rest.popFirst() {
            if word.text == "--", !word.isQuoted {
                operands += rest
                return
            }
            guard word.isOption else {
                operands.append(word)
                if stopsAtOperand {
                    operands += rest
                    return
                }
                continue
            }
            if word.text.hasPrefix("--") {
                long(word, valued: valued, rest: &rest)
            } else {
                cluster(word, valued: valued, rest: &rest)
            }
        }
    }

    private mutating func long(_ word: ShellWord, valued: Set<String>, rest: inout ArraySlice<ShellWord>) {
        if let equals = word.text.firstIndex(of: "=") {
            let value = String(word.text[word.text.index(after: equals)...])
            options.append((String(word.text[..<equals]), ShellWord(text: value, isOpaque: word.isOpaque)))
        } else {
            options.append((word.text, valued.contains(word.text) ? rest.popFirst() : nil))
        }
    }

    private mutating func cluster(_ word: ShellWord, valued: Set<String>, rest: inout ArraySlice<ShellWord>) {
        // `-name` as a whole, for programs with long options of one dash.
        if word.text.count > 2, valued.contains(word.text) {
            return options.append((word.text, rest.popFirst()))
        }
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
}

extension Set<String> {
    /// A set written as one line of words.
    init(words: String) { self.init(words.split(separator: " ").map(String.init)) }
}
