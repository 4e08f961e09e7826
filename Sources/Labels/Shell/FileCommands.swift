/// Programs for files whose labels need more than a row of the table.
enum FileCommands {
    static func tail(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let name = line.operands.listed
        if line.has("-f", "-F", "--follow") { return .files("Watching \(name ?? "a file")", .reading) }
        return .files("Reading \(name ?? (line.operands.isEmpty ? "input" : "files"))", .reading)
    }

    static func test(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let file = line.operands.first { !["=", "!=", "!"].contains($0.text) }
        return .files("Checking \(file?.name ?? "files")", .checking)
    }

    static func comparing(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let names = line.operands.compactMap(\.name)
        let areKnown = line.operands.count == 2 && names.count == 2
        return .files(areKnown ? "Comparing \(names[0]) and \(names[1])" : "Comparing files", .reading)
    }

    /// The first operand is the mode or the owner; `chmod -x F` writes the mode like an option.
    static func permissions(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let hasDashMode =
            call.program == "chmod"
            && call.arguments.contains { $0.isOption && $0.text.dropFirst().allSatisfy { "rwxst".contains($0) } }
        let takesReference = call.arguments.contains { $0.text.hasPrefix("--reference") }
        let files = hasDashMode || takesReference ? line.operands[...] : line.operands.dropFirst()
        return .files("Changing permissions" + (files.listed.map { " on \($0)" } ?? ""), .managing)
    }

    /// Names a line only if it is the only command.
    static func changingFolder(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        guard let word = line.operands.first else { return .files("Opening home folder", .setting) }
        guard let name = word.name else { return .files("Opening a folder", .setting) }
        return .files(name.hasSuffix(" folder") ? "Opening \(name)" : "Opening folder \(name)", .setting)
    }

    // MARK: archives

    private static func archive(_ verb: String, _ file: ShellWord?) -> CommandLabel {
        .files("\(verb) \(file?.name ?? "files")", verb == "Listing" ? .checking : .managing)
    }

    static func packing(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let isUnzip = call.program == "unzip"
        let lists = isUnzip ? line.has("-l", "-Z", "-v") : line.has("-l", "--list")
        if lists { return archive("Listing", line.operands.first) }
        let extracts = isUnzip || line.has("-d", "--decompress", "--uncompress")
        return archive(extracts ? "Extracting" : "Archiving", line.operands.first)
    }

    /// The mode is a letter of the first cluster, which may stand without a dash.
    static func tar(_ call: ProgramCall, _: ParsedArguments) -> CommandLabel {
        var words = call.arguments
        if let first = words.first, !first.isOpaque, !first.text.hasPrefix("-") {
            words[0] = ShellWord(text: "-" + first.text)
        }
        let line = ParsedArguments(words, OptionTable.options("tar"))
        let file = line.value("-f", "--file")
        if line.has("-x", "--extract", "--get") { return archive("Extracting", file) }
        return archive(line.has("-t", "--list") ? "Listing" : "Archiving", file)
    }
}
