/// Programs that move and copy files, here or to another host.
enum TransferCommands {
    static func moving(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let (sources, target) = split(line)
        if let target, sources.count == 1, let source = sources.first, isRename(source, target), let old = source.name,
            let new = target.name
        {
            return .files("Renaming \(old) to \(new)", .managing)
        }
        return .files(transfer("Moving", sources, to: target), .managing)
    }

    static func copying(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let (sources, target) = split(line)
        return .files(transfer("Copying", sources, to: target), .managing)
    }

    /// scp and rsync.
    static func remoteCopying(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let sources = line.operands.dropLast()
        guard let target = line.operands.last, let first = sources.first else {
            return .files("Copying files", .managing)
        }
        if let host = remoteHost(target) { return .network("Copying \(things(sources)) to \(host)", .remote) }
        if let host = remoteHost(first) { return .network("Copying \(things(sources)) from \(host)", .fetching) }
        return .files(transfer("Copying", sources, to: target), .managing)
    }

    private static func split(_ line: ParsedArguments) -> (sources: ArraySlice<ShellWord>, target: ShellWord?) {
        if let target = line.value("-t", "--target-directory") { return (line.operands[...], target) }
        return line.operands.count > 1 ? (line.operands.dropLast(), line.operands.last) : (line.operands[...], nil)
    }

    /// Whether both paths are in one folder, and the target is not written as a folder.
    private static func isRename(_ source: ShellWord, _ target: ShellWord) -> Bool {
        guard !source.isOpaque, !target.isOpaque, !target.text.hasSuffix("/") else { return false }
        guard let last = target.text.split(separator: "/").last, ![".", "..", "~"].contains(last) else { return false }
        return folder(source.text) == folder(target.text)
    }

    private static func folder(_ path: String) -> String {
        var text = path[...]
        while text.hasSuffix("/") { text = text.dropLast() }
        guard let slash = text.lastIndex(of: "/") else { return "." }
        let parent = text[..<slash]
        return parent.isEmpty ? "/" : String(parent)
    }

    private static func transfer(_ verb: String, _ sources: ArraySlice<ShellWord>, to target: ShellWord?) -> String {
        let things: String
        switch sources.count {
        case 0: return "\(verb) files"
        case 1: things = sources.first?.name ?? "a file"
        default: things = "\(sources.count) items"
        }
        guard let target, case let place = target.name ?? "a file", place != things else { return "\(verb) \(things)" }
        return "\(verb) \(things) to \(place)"
    }

    private static func things(_ sources: ArraySlice<ShellWord>) -> String {
        guard sources.count == 1, let source = sources.first else { return "\(sources.count) items" }
        guard !source.isOpaque, remoteHost(source) != nil, let colon = source.text.lastIndex(of: ":") else {
            return source.name ?? "files"
        }
        return LabelText.name(ofPath: String(source.text[source.text.index(after: colon)...])) ?? "files"
    }

    /// `user@host:path`, `host::module`, `rsync://host/…`; a drive letter is no host.
    private static func remoteHost(_ word: ShellWord) -> String? {
        guard let colon = word.text.firstIndex(of: ":") else { return nil }
        let before = word.text[..<colon]
        guard before.count > 1, !before.contains("/") else { return nil }
        if word.text[colon...].hasPrefix("://") { return word.host ?? "a server" }
        if before.contains("$") || before.contains("`") { return "a server" }
        return LabelText.host(ofAuthority: before.lowercased()[...]) ?? "a server"
    }
}
