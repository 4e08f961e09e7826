import Basics

/// Package managers.
enum PackageCommands {
    static let checking = CommandLabel.terminal("Checking packages", .checking)
    static let starting = CommandLabel.terminal("Starting the app", .running)
    private static let installing = CommandLabel.terminal("Installing dependencies", .building)

    static func install(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        if !isScripted(call), line.has("-r", "--requirement") { return installing }
        return install(line.operands, sign: isScripted(call) ? "@" : "=")
    }

    static func remove(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let names = line.operands.compactMap { packageName($0, sign: isScripted(call) ? "@" : "=") }
        return .terminal("Removing \(LabelText.list(names) ?? "packages")", .building)
    }

    private static func install(_ operands: some Collection<ShellWord>, sign: Character) -> CommandLabel {
        let names = operands.filter { $0.text != "." }.compactMap { packageName($0, sign: sign) }
        return LabelText.list(names).map { .terminal("Installing \($0)", .building) } ?? installing
    }

    /// JavaScript package managers write versions after `@`, the others after `=`.
    private static func isScripted(_ call: ProgramCall) -> Bool {
        ["npm", "pnpm", "yarn", "bun"].contains(call.program)
    }

    /// A package's name without its version: `a==1`, `a>=1`, `a@1`, `@scope/a@1`.
    static func packageName(_ word: ShellWord, sign: Character) -> String? {
        guard !word.isOpaque, let first = word.text.first else { return nil }
        if word.text.containsText("://") || first == "." || first == "/" || first == "~" {
            return LabelText.name(ofPath: String(word.text.prefix { $0 != "?" && $0 != "#" }))
        }
        var name = word.text[...]
        if sign == "@" {
            if let at = name.dropFirst().firstIndex(of: "@") { name = name[..<at] }
        } else {
            name = name.prefix { !"=<>~! ;".contains($0) }
        }
        let shown = LabelText.collapsed(name)
        return shown.isEmpty ? nil : SecretMask.name(shown)
    }

    // MARK: running scripts and tools of packages

    /// A sub-command of npm, pnpm, yarn or bun without a row: usually a script of that name.
    static func otherScript(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        guard let sub = line.operands.first, !sub.isOpaque else {
            if call.program == "yarn", line.operands.isEmpty { return installing }
            return .terminal("Running \(call.program)", .running)
        }
        if call.program == "bun", let name = ProgramTable.scriptName(sub.text) {
            return .terminal("Running \(name)", .running)
        }
        return call.program == "npm" ? ProgramRule.running(call, line) : script(sub.text)
    }

    /// A script of the package by its name.
    static func script(_ name: String) -> CommandLabel {
        if name == "t" || name == "tst" || name.hasPrefix("test") { return .tests }
        if name.hasPrefix("build") { return .building }
        if name == "start" || name == "dev" || name == "serve" { return starting }
        if name.hasPrefix("lint") || name.hasPrefix("format") { return .codeStyle }
        if let file = ProgramTable.scriptName(name) { return .terminal("Running \(file)", .running) }
        return .terminal("Running script \(SecretMask.name(LabelText.collapsed(name)))", .running)
    }

    /// npx, bunx, uvx and pipx.
    static func oneOff(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        var words = line.operands[...]
        if call.program == "pipx", let sub = words.first?.text {
            words = words.dropFirst()
            if ["install", "i", "add", "ci"].contains(sub) { return install(words, sign: "=") }
            guard sub == "run" else { return checking }
            words = ParsedArguments(words, OptionTable.Options(stopsAtOperand: true)).operands[...]
        }
        guard let tool = words.popFirst(), !tool.isOpaque, let name = packageName(tool, sign: "@") else {
            return .terminal("Running \(call.program)", .running)
        }
        if ["jest", "vitest", "mocha", "playwright", "pytest"].contains(name) { return .tests }
        if name == "agent-browser" { return ProgramTable.label(for: call.calling(name, words)) }
        return .terminal("Running \(name)", .running)
    }

    /// `uv run …`, `bundle exec …`.
    static func runInside(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let inner = ParsedArguments(call.arguments, OptionTable.options("run", in: "pip"))
        if let module = inner.value("-m") {
            return ProgramTable.label(for: call.calling("python", [ShellWord(text: "-m"), module]))
        }
        return CommandLineLabel.label(of: SimpleCommand(words: inner.operands), depth: call.depth) ?? .unknown
    }
}
