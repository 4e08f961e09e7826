/// Moving, copying, packing.
extension ProgramTable {
    static let moves: [String: ProgramRule] = [
        "mv": .custom { command, _ in moving("Moving", command, valued: "-t --target-directory -S --suffix") },
        "cp": .custom { command, _ in moving("Copying", command, valued: "-t --target-directory -S --suffix") },
        "scp": .custom { command, _ in copying(command, valued: "-i -P -F -l -o -S -c -J -D -X") },
        "rsync": .custom { command, _ in
            copying(
                command,
                valued: """
                    -e --rsh -f --filter --exclude --include --exclude-from --include-from --files-from --bwlimit --port \
                    --password-file --timeout --log-file -M --backup-dir --partial-dir --chmod --chown -T --temp-dir
                    """
            )
        },
    ]

    private static func moving(_ verb: String, _ command: ShellCommand, valued: String) -> CommandLabel? {
        let line = CommandLine(command.arguments, valued: Set(words: valued))
        var sources = line.operands
        var target = line.value("-t", "--target-directory")
        if target == nil, sources.count > 1 { target = sources.removeLast() }
        if verb == "Moving", let target, sources.count == 1, let source = sources.first, isRename(source, target),
            let old = LabelText.name(of: source), let new = LabelText.name(of: target)
        {
            return CommandLabel("Renaming \(old) to \(new)", .fileSystem, .managing)
        }
        return CommandLabel(transfer(verb, sources, to: target), .fileSystem, .managing)
    }

    /// Both in one folder, and the target not written as a folder.
    private static func isRename(_ source: ShellWord, _ target: ShellWord) -> Bool {
        guard !source.isOpaque, !target.isOpaque, !target.text.hasSuffix("/") else { return false }
        let special: Set<String> = [".", "..", "~"]
        guard let last = target.text.split(separator: "/").last, !special.contains(String(last)) else { return false }
        return folder(source.text) == folder(target.text)
    }

    private static func folder(_ path: String) -> String {
        var text = path[...]
        while text.hasSuffix("/") { text = text.dropLast() }
        guard let slash = text.lastIndex(of: "/") else { return "." }
        let parent = text[..<slash]
        return parent.isEmpty ? "/" : String(parent)
    }

    private static func transfer(_ verb: String, _ sources: [ShellWord], to target: ShellWord?) -> String {
        let place = target.map { LabelText.name(of: $0) ?? "a file" }
        let things: String
        switch sources.count {
        case 0: return "\(verb) files"
        case 1: things = sources.first.flatMap { LabelText.name(of: $0) } ?? "a file"
        default: things = "\(sources.count) items"
        }
        guard let place, place != things else { return "\(verb) \(things)" }
        return "\(verb) \(things) to \(place)"
    }

    private static func copying(_ command: ShellCommand, valued: String) -> CommandLabel? {
        var sources = CommandLine(command.arguments, valued: Set(words: valued)).operands
        guard let target = sources.count > 1 ? sources.removeLast() : nil else {
            return CommandLabel("Copying files", .fileSystem, .managing)
        }
        if let host = remoteHost(target) {
            return CommandLabel("Copying \(things(sources)) to \(host)", .network, .remote)
        }
        if let first = sources.first, let host = remoteHost(first) {
            return CommandLabel("Copying \(things(sources)) from \(host)", .network, .fetching)
        }
        return CommandLabel(transfer("Copying", sources, to: target), .fileSystem, .managing)
    }

    private static func things(_ sources: [ShellWord]) -> String {
        guard sources.count == 1, let source = sources.first else { return "\(sources.count) items" }
        guard !source.isOpaque else { return "files" }
        guard remoteHost(source) != nil, let colon = source.text.lastIndex(of: ":") else {
            return LabelText.name(of: source) ?? "files"
        }
        return LabelText.name(ofPath: String(source.text[source.text.index(after: colon)...])) ?? "files"
    }

    /// `user@host:path`, `host::module`, `rsync://host/…`; a drive letter is no host.
    private static func remoteHost(_ word: ShellWord) -> String? {
        guard let colon = word.text.firstIndex(of: ":") else { return nil }
        let before = word.text[..<colon]
        guard before.count > 1, !before.contains("/") else { return nil }
        if word.text[colon...].hasPrefix("://") { return LabelText.host(ofTarget: word) ?? "a server" }
        if before.contains("$") || before.contains("`") { return "a server" }
        return LabelText.host(ofAuthority: before.lowercased()[...]) ?? "a server"
    }

    static let archives: [String: ProgramRule] = [
        "tar": .custom(tar),
        "bsdtar": .custom(tar),
        "unzip": .custom { command, _ in
            let line = CommandLine(command.arguments, valued: ["-d", "-x", "-P"])
            return archive(line.has("-l", "-Z", "-v") ? "Listing" : "Extracting", line.operands.first)
        },
        "gunzip": .custom { command, _ in archive("Extracting", CommandLine(command.arguments).operands.first) },
        "bunzip2": .custom { command, _ in archive("Extracting", CommandLine(command.arguments).operands.first) },
        "unxz": .custom { command, _ in archive("Extracting", CommandLine(command.arguments).operands.first) },
        "zip": .custom { command, _ in
            let line = CommandLine(command.arguments, valued: Set(words: "-i -x -b -t -tt -n -P --password --exclude"))
            return archive("Archiving", line.operands.first)
        },
        "gzip": .custom(packing),
        "bzip2": .custom(packing),
        "xz": .custom(packing),
        "zstd": .custom(packing),
    ]

    private static func archive(_ verb: String, _ word: ShellWord?) -> CommandLabel {
        let rank: CommandLabel.Rank = verb == "Listing" ? .checking : .managing
        return CommandLabel("\(verb) \(word.flatMap { LabelText.name(of: $0) } ?? "files")", .fileSystem, rank)
    }

    private static func packing(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let line = CommandLine(command.arguments, valued: Set(words: "-S --suffix -o -T"))
        if line.has("-l", "--list") { return archive("Listing", line.operands.first) }
        return archive(line.has("-d", "--decompress", "--uncompress") ? "Extracting" : "Archiving", line.operands.first)
    }

    /// The mode is a letter of the first cluster, which may stand without a dash.
    private static func tar(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        var words = command.arguments
        if let first = words.first, !first.isOpaque, !first.text.hasPrefix("-") {
            words[0] = ShellWord(text: "-" + first.text)
        }
        let line = CommandLine(words, valued: Set(words: "-f --file -C --directory -T --exclude -X --transform -b -I"))
        let file = line.value("-f", "--file")
        if line.has("-x", "--extract", "--get") { return archive("Extracting", file) }
        if line.has("-t", "--list") { return archive("Listing", file) }
        return archive("Archiving", file)
    }
}
