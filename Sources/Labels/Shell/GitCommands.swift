import Basics

/// Sub-commands of git that name a branch or a repository.
enum GitCommands {
    static func clone(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        .network("Cloning \(line.operands.first.flatMap(repository) ?? "a repository")", .fetching)
    }

    static func switching(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        if let name = line.value("-c", "-C", "-b", "-B", "--create", "--force-create", "--orphan") {
            return .terminal("Creating branch \(branchName(name) ?? "")".trimmingBlanks(), .fetching)
        }
        let target = line.operands.first
        if call.arguments.contains(where: { $0.text == "--" }) || target?.text == "." {
            return .terminal("Restoring files", .fetching)
        }
        if target?.text == "-" { return .terminal("Switching to the previous branch", .fetching) }
        return .terminal("Switching to \(target.flatMap(branchName) ?? "a branch")", .fetching)
    }

    static func merge(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        .terminal("Merging" + (line.operands.first.flatMap(branchName).map { " \($0)" } ?? ""), .fetching)
    }

    static func branch(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        guard let name = line.operands.last.flatMap(branchName), !line.has("-l", "--list", "-a", "-r", "-v") else {
            return .terminal("Listing branches", .checking)
        }
        if line.has("-d", "-D", "--delete") { return .terminal("Deleting branch \(name)", .fetching) }
        if line.has("-m", "-M", "--move") { return .terminal("Renaming branch to \(name)", .fetching) }
        return .terminal("Creating branch \(line.operands.first.flatMap(branchName) ?? name)", .fetching)
    }

    /// Branch names keep their slashes.
    private static func branchName(_ word: ShellWord) -> String? {
        guard !word.isOpaque, !word.text.isEmpty, word.text != "-" else { return nil }
        return SecretMask.name(LabelText.collapsed(word.text))
    }

    private static func repository(_ word: ShellWord) -> String? {
        guard !word.isOpaque else { return nil }
        var path = word.text[...]
        while path.last == "/" { path = path.dropLast() }
        let last = path.split(whereSeparator: { $0 == "/" || $0 == ":" }).last ?? path
        return LabelText.name(ofPath: String(last.hasSuffix(".git") ? last.dropLast(4) : last))
    }
}
