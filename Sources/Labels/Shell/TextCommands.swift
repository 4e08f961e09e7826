/// Programs that change text or pass it on.
enum TextCommands {
    static func tee(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let files = line.operands.filter { !$0.text.hasPrefix("/dev/") }
        guard !files.isEmpty else { return .terminal("Printing text", .printing) }
        let name = files.listed ?? "a file"
        return .files(line.has("-a", "--append") ? "Appending to \(name)" : "Writing \(name)", .writing)
    }

    /// awk takes a program text before the files unless an option names its file.
    static func processing(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let hasScript = call.program == "awk" && !line.has("-f", "--file")
        let names = line.operands.dropFirst(hasScript ? 1 : 0).filter { !$0.isAssignment }.listed
        return names.map { .files("Processing \($0)", .reading) } ?? .terminal("Processing text", .reading)
    }

    /// jq and yq: the first operand is the program unless an option names its file.
    static func data(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let files = line.has("-f", "--from-file") ? line.operands[...] : line.operands.dropFirst()
        return files.listed.map { .files("Processing \($0)", .reading) } ?? .terminal("Processing data", .reading)
    }

    // MARK: editing in place

    /// With -n, sed usually prints a part of a file; without it, a changed text.
    static func sed(_ call: ProgramCall, _: ParsedArguments) -> CommandLabel {
        // `-i` takes its suffix only in the same word, on BSD as an empty word of its own.
        let words = call.arguments.filter { !($0.isQuoted && $0.text.isEmpty) }
        let edits = words.contains { word in
            if word.text.hasPrefix("--") { return word.text == "--in-place" || word.text.hasPrefix("--in-place=") }
            return word.isOption && word.text.dropFirst().prefix { "Enrsiz".contains($0) }.contains("i")
        }
        let plain = words.filter { !($0.isOption && $0.text.hasPrefix("-i")) }
        let line = ParsedArguments(plain, OptionTable.options("sed"))
        let hasScript = line.has("-e", "--expression", "-f", "--file")
        let files = hasScript ? line.operands[...] : line.operands.dropFirst()
        if edits { return editing(files) }
        guard !files.isEmpty else { return .terminal("Processing text", .reading) }
        let verb = line.has("-n", "--quiet", "--silent") ? "Reading" : "Processing"
        return .files("\(verb) \(files.listed ?? "files")", .reading)
    }

    /// `perl -i`, also in a cluster such as `-pi.bak` and `-pie`; nil if it edits nothing.
    static func perlEdit(_ call: ProgramCall) -> CommandLabel? {
        let clusters = call.arguments.prefix { $0.isOption || $0.isOpaque }.filter { !$0.text.hasPrefix("--") }
        guard clusters.contains(where: { $0.text.dropFirst().prefix { $0.isLetter && $0 != "e" }.contains("i") }) else {
            return nil
        }
        // The suffix of `-i.bak` is no option letter.
        let words = call.arguments.map { word in
            guard word.isOption, let dot = word.text.firstIndex(of: ".") else { return word }
            return ShellWord(text: String(word.text[..<dot]))
        }
        var options = OptionTable.options("perl")
        options.stopsAtOperand = false
        return editing(ParsedArguments(words, options).operands[...])
    }

    private static func editing(_ files: ArraySlice<ShellWord>) -> CommandLabel {
        .files("Editing \(files.listed ?? "files")", .writing)
    }
}
