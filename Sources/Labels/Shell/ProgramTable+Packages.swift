import Basics

/// Package managers.
extension ProgramTable {
    static let packages: [String: ProgramRule] = {
        var table: [String: ProgramRule] = [:]
        for name in ["npm", "pnpm", "yarn", "bun"] { table[name] = .custom(scripts) }
        for name in ["npx", "bunx", "uvx", "pipx"] { table[name] = .custom(oneOff) }
        for name in ["pip", "uv", "poetry", "conda", "brew", "apt", "yum", "dnf", "apk", "gem", "bundle"] {
            table[name] = .custom(manager)
        }
        return table
    }()

    private static let installing = Set(words: "install i add ci")
    private static let updating = Set(words: "update upgrade up dist-upgrade full-upgrade")
    private static let removing = Set(words: "remove uninstall rm un purge autoremove del r")
    private static let listing = Set(
        words: "list ls show info search freeze outdated check view audit why leaves deps policy"
    )

    private static func terminal(_ text: String, _ rank: CommandLabel.Rank = .building) -> CommandLabel {
        CommandLabel(text, .terminal, rank)
    }

    // MARK: npm and its like

    private static let scriptValued = Set(
        words: "--prefix -C --cwd --dir --filter -F -w --workspace --registry --tag --loglevel --omit --include --cache"
    )

    private static func scripts(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let line = CommandLine(command.arguments, valued: scriptValued)
        guard let sub = line.operands.first, !sub.isOpaque else {
            if command.program == "yarn", line.operands.isEmpty { return terminal("Installing dependencies") }
            return terminal("Running \(command.program)", .running)
        }
        let rest = Array(line.operands.dropFirst())
        switch sub.text {
        case _ where installing.contains(sub.text): return install(rest, sign: "@")
        case _ where updating.contains(sub.text): return terminal("Updating packages")
        case _ where removing.contains(sub.text): return remove(rest, sign: "@")
        case _ where listing.contains(sub.text): return terminal("Checking packages", .checking)
        case "run", "run-script", "rum":
            return rest.first.map { script($0.text) } ?? terminal("Checking packages", .checking)
        case "x", "dlx", "exec":
            return oneOff(ShellCommand(program: "npx", arguments: behind(sub.text, command.arguments)), depth: depth)
        case "test", "t", "tst", "start", "build", "dev", "lint", "format": return script(sub.text)
        default:
            if let name = scriptName(sub.text), command.program == "bun" {
                return terminal("Running \(name)", .running)
            }
            if command.program == "npm" {
                return terminal(runningName(sub.text).map { "Running npm \($0)" } ?? "Running npm", .running)
            }
            return script(sub.text)
        }
    }

    /// A script of the package by its name.
    private static func script(_ name: String) -> CommandLabel {
        if name == "t" || name == "tst" || name.hasPrefix("test") { return terminal("Running tests") }
        if name.hasPrefix("build") { return terminal("Building") }
        if name == "start" || name == "dev" || name == "serve" { return terminal("Starting the app", .running) }
        if name.hasPrefix("lint") || name.hasPrefix("format") { return terminal("Checking code style") }
        if let file = scriptName(name) { return terminal("Running \(file)", .running) }
        return terminal("Running script \(SecretMask.name(LabelText.collapsed(name)))", .running)
    }

    // MARK: npx and its like

    private static let testTools = Set(words: "jest vitest mocha playwright")

    private static func oneOff(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        var line = CommandLine(
            command.arguments,
            valued: Set(words: "-p --package -c --call --from --with --python --index-url"),
            stopsAtOperand: true
        )
        if command.program == "pipx", let sub = line.operands.first?.text {
            if installing.contains(sub) { return install(Array(line.operands.dropFirst()), sign: "=") }
            guard sub == "run" else { return terminal("Checking packages", .checking) }
            line = CommandLine(line.operands.dropFirst(), stopsAtOperand: true)
        }
        guard let tool = line.operands.first, !tool.isOpaque, let name = packageName(tool, sign: "@") else {
            return terminal("Running \(command.program)", .running)
        }
        if testTools.contains(name) || name == "pytest" { return terminal("Running tests") }
        if name == "agent-browser" {
            return rules[name]?.label(
                for: ShellCommand(program: name, arguments: line.operands.dropFirst()),
                depth: depth
            )
        }
        return terminal("Running \(name)", .running)
    }

    // MARK: the others

    private static let managerValued = Set(
        words: """
            -r --requirement -c --constraint -i --index-url --extra-index-url -t --target -v --version -n --name -p --prefix \
            --python --group --extra --with --source -e --editable --directory --project --channel -f --file --repository
            """
    )

    private static func manager(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        var valued = managerValued
        // Elsewhere -v is verbose, -n a dry run and -p or -f a yes.
        if command.program != "gem" { valued.subtract(["-v", "--version"]) }
        if command.program != "conda" { valued.subtract(["-n", "-p", "-f", "--file", "--name"]) }
        if command.program == "brew" || command.program == "apt" { valued.subtract(["-e", "-r", "-t", "-c", "-i"]) }
        let line = CommandLine(command.arguments, valued: valued)
        guard let sub = line.operands.first, !sub.isOpaque else {
            return terminal(
                command.program == "bundle" ? "Installing dependencies" : "Running \(command.program)",
                .running
            )
        }
        let rest = Array(line.operands.dropFirst())
        switch sub.text {
        case "run", "exec":
            let inner = CommandLine(
                behind(sub.text, command.arguments),
                valued: Set(
                    words: "--with --python --group --extra --env-file -n --name --package -p --prefix --from -m"
                ),
                stopsAtOperand: true
            )
            if let module = inner.value("-m") {
                return interpreters["python"]?.label(
                    for: ShellCommand(program: "python", arguments: [ShellWord(text: "-m"), module]),
                    depth: depth
                )
            }
            return CommandLabels.label(of: ShellPart(words: inner.operands), depth: depth)
                ?? terminal("Running a command", .running)
        case "pip" where command.program == "uv":
            return manager(ShellCommand(program: "pip", arguments: behind("pip", command.arguments)), depth: depth)
        case "venv" where command.program == "uv": return terminal("Creating a virtual environment")
        case "sync" where command.program == "uv" || command.program == "poetry":
            return terminal("Installing dependencies")
        case _ where installing.contains(sub.text):
            if line.has("-r", "--requirement") { return terminal("Installing dependencies") }
            return install(rest, sign: "=")
        case _ where updating.contains(sub.text): return terminal("Updating packages")
        case _ where removing.contains(sub.text): return remove(rest, sign: "=")
        case _ where listing.contains(sub.text): return terminal("Checking packages", .checking)
        default:
            return terminal("Running \(command.program)" + (runningName(sub.text).map { " \($0)" } ?? ""), .running)
        }
    }

    // MARK: names

    private static func install(_ operands: [ShellWord], sign: Character) -> CommandLabel {
        let names = operands.filter { $0.text != "." }.compactMap { packageName($0, sign: sign) }
        return terminal("Installing \(LabelText.list(names) ?? "dependencies")")
    }

    private static func remove(_ operands: [ShellWord], sign: Character) -> CommandLabel {
        terminal("Removing \(LabelText.list(operands.compactMap { packageName($0, sign: sign) }) ?? "packages")")
    }

    /// A package's name without its version: `a==1`, `a>=1`, `a@1`, `@scope/a@1`.
    static func packageName(_ word: ShellWord, sign: Character) -> String? {
        guard !word.isOpaque, !word.text.isEmpty else { return nil }
        if word.text.containsText("://") || word.text.hasPrefix(".") || word.text.hasPrefix("/")
            || word.text.hasPrefix("~")
        {
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

    /// The arguments behind a sub-command.
    private static func behind(_ sub: String, _ arguments: [ShellWord]) -> [ShellWord] {
        guard let place = arguments.firstIndex(where: { $0.text == sub }) else { return [] }
        return Array(arguments[(place + 1)...])
    }
}
