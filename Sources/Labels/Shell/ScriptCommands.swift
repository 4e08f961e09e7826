import Basics

/// Programs that run scripts or open things.
enum ScriptCommands {
    /// With `inline`, the program text is an argument.
    static func run(_ call: ProgramCall, _ line: ParsedArguments, _ language: String, inline: Bool) -> CommandLabel {
        if inline { return script(language) }
        if let first = line.operands.first, first.text != "-" { return file(first, language) }
        let asksAbout =
            line.operands.isEmpty && call.documents.isEmpty && !call.arguments.isEmpty
            && call.arguments.allSatisfy { ["-V", "-v", "--version", "-h", "--help"].contains($0.text) }
        return asksAbout ? .terminal("Running \(call.program)", .running) : script(language)
    }

    static func python(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        guard !line.has("-c"), let module = line.value("-m") else {
            return run(call, line, "Python", inline: line.has("-c"))
        }
        switch module.text {
        case "pytest", "unittest": return .tests
        case "http.server": return .terminal("Starting a web server", .running)
        case "venv": return .terminal("Creating a virtual environment", .building)
        case "pip": return ProgramTable.label(for: call.calling("pip", call.arguments(behind: "pip")))
        default:
            guard !module.isOpaque, let name = ProgramTable.runningName(module.text.lowercased()) else {
                return script("Python")
            }
            return .terminal("Running \(name)", .running)
        }
    }

    static func node(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let isInline = line.has("-e", "--eval", "-p", "--print", "-pe")
        return !isInline && line.has("--test") ? .tests : run(call, line, "JavaScript", inline: isInline)
    }

    static func deno(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        switch line.operands.first?.text {
        case "test": .tests
        case "lint", "fmt": .codeStyle
        case "eval": script("JavaScript")
        case "run": file(line.operands.dropFirst().first, "JavaScript")
        default: file(line.operands.first, "JavaScript")
        }
    }

    private static func script(_ language: String) -> CommandLabel {
        .terminal("Running \("AEIOU".contains(language.prefix(1)) ? "an" : "a") \(language) script", .running)
    }

    private static func file(_ word: ShellWord?, _ language: String) -> CommandLabel {
        guard let name = word?.name else { return script(language) }
        return .terminal("Running \(name)", .running)
    }

    static func open(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let target = line.operands.first ?? line.value("-a", "-b")
        let host = target.flatMap { $0.isOpaque || !$0.text.containsText("://") ? nil : LabelText.host(in: $0.text) }
        return .terminal("Opening \(host ?? target?.name ?? "a file")", .running)
    }

    /// `sleep 2m` is "Waiting 2m".
    static func sleep(_ call: ProgramCall, _: ParsedArguments) -> CommandLabel {
        guard let word = call.arguments.first, !word.isOpaque, word.text.utf8.count <= 8, let unit = word.text.last,
            word.text.first?.isNumber == true, unit.isNumber || "smhd".contains(unit),
            word.text.dropLast(unit.isNumber ? 0 : 1).allSatisfy({ $0.isNumber || $0 == "." })
        else { return .terminal("Waiting", .printing) }
        return .terminal("Waiting \(word.text)\(unit.isNumber ? "s" : "")", .printing)
    }
}
