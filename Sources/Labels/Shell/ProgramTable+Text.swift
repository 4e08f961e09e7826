import Basics

/// Programs that change or pass on text.
extension ProgramTable {
    static let text: [String: ProgramRule] = [
        "tee": .custom { command, _ in
            let line = CommandLine(command.arguments)
            let files = line.operands.filter { !$0.text.hasPrefix("/dev/") }
            guard !files.isEmpty else { return CommandLabel("Printing text", .terminal, .printing) }
            let name = LabelText.list(of: files) ?? "a file"
            return CommandLabel(
                line.has("-a", "--append") ? "Appending to \(name)" : "Writing \(name)",
                .fileSystem,
                .writing
            )
        },
        "sed": .custom(sed),
        "perl": .custom { command, depth in
            // -p and -i come in clusters such as -pi.bak and -pie.
            let clusters = command.arguments.prefix { $0.isOption || $0.isOpaque }.filter { !$0.text.hasPrefix("--") }
            guard clusters.contains(where: { $0.text.dropFirst().prefix { $0.isLetter && $0 != "e" }.contains("i") })
            else {
                return interpreters["perl"]?.label(for: command, depth: depth)
            }
            // The suffix of `-i.bak` is no option letter.
            let words = command.arguments.map { word in
                guard word.isOption, let dot = word.text.firstIndex(of: ".") else { return word }
                return ShellWord(text: String(word.text[..<dot]))
            }
            return editing(CommandLine(words, valued: Set(words: "-e -E -M -I")).operands)
        },
        "awk": processing("-F -v -f --field-separator --assign --file", script: true),
        "cut": processing("-d -f -c -b --delimiter --fields --characters"),
        "sort": processing("-k --key -t --field-separator -o --output -S -T"),
        "uniq": processing("-f -s -w"),
        "tr": .fixed("Processing text", .terminal, .reading),
        "wc": processing(""),
        "jq": data("--arg --argjson --slurpfile --rawfile --args --jsonargs --indent -f --from-file -L --tab"),
        "yq": data("-o --output-format -p --input-format -I --indent --from-file"),
        "apply_patch": .custom { command, _ in
            let patch = (command.documents + command.arguments.map(\.text)).joined(separator: "\n")
            return CommandLabel(PatchFiles.label(of: patch), .fileSystem, .writing)
        },
    ]

    /// Without -n it prints a changed text, with it usually a part of a file.
    private static func sed(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        // `-i` takes its suffix only in the same word, on BSD as an empty word of its own.
        let words = command.arguments.filter { !($0.isQuoted && $0.text.isEmpty) }
        let edits = words.contains { word in
            word.text == "--in-place" || word.text.hasPrefix("--in-place=")
                || (word.isOption && !word.text.hasPrefix("--")
                    && word.text.dropFirst().prefix { "Enrsiz".contains($0) }.contains("i"))
        }
        let plain = words.filter { !($0.isOption && $0.text.hasPrefix("-i")) }
        let line = CommandLine(plain, valued: Set(words: "-e --expression -f --file -l"))
        let files = line.has("-e", "--expression", "-f", "--file") ? line.operands : Array(line.operands.dropFirst())
        if edits { return editing(files) }
        guard !files.isEmpty else { return CommandLabel("Processing text", .terminal, .reading) }
        let name = LabelText.list(of: files)
        if line.has("-n", "--quiet", "--silent") {
            return CommandLabel(name.map { "Reading \($0)" } ?? "Reading files", .fileSystem, .reading)
        }
        return CommandLabel(name.map { "Processing \($0)" } ?? "Processing files", .fileSystem, .reading)
    }

    private static func editing(_ files: [ShellWord]) -> CommandLabel {
        CommandLabel("Editing \(LabelText.list(of: files) ?? "files")", .fileSystem, .writing)
    }

    /// With `script`, the first operand is a program text unless an option gives one.
    private static func processing(_ valued: String, script: Bool = false) -> ProgramRule {
        let valued = Set(words: valued)
        return .custom { command, _ in
            let line = CommandLine(command.arguments, valued: valued)
            var files = line.operands
            if script, !line.has("-f", "--file"), !files.isEmpty { files.removeFirst() }
            files.removeAll { $0.isAssignment }
            guard let name = LabelText.list(of: files) else {
                return CommandLabel("Processing text", .terminal, .reading)
            }
            return CommandLabel("Processing \(name)", .fileSystem, .reading)
        }
    }

    private static func data(_ valued: String) -> ProgramRule {
        let valued = Set(words: valued)
        return .custom { command, _ in
            let line = CommandLine(command.arguments, valued: valued)
            let files = line.has("-f", "--from-file") ? line.operands : Array(line.operands.dropFirst())
            guard let name = LabelText.list(of: files) else {
                return CommandLabel("Processing data", .terminal, .reading)
            }
            return CommandLabel("Processing \(name)", .fileSystem, .reading)
        }
    }
}

/// The files that a patch in the `*** Begin Patch` form names.
enum PatchFiles {
    static func label(of patch: String) -> String {
        var names: [String] = []
        for line in patch.split(whereSeparator: \.isNewline) where line.hasPrefix("*** ") {
            for verb in ["*** Update File: ", "*** Add File: ", "*** Delete File: "] where line.hasPrefix(verb) {
                guard let name = LabelText.name(ofPath: line.dropFirst(verb.count).trimmingBlanks()) else { continue }
                if !names.contains(name) { names.append(name) }
            }
            if names.count > LabelLimits.patchFiles { break }
        }
        return LabelText.list(names).map { "Editing \($0)" } ?? "Applying a patch"
    }
}
