/// Tools that build and test.
enum BuildCommands {
    static func go(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        if line.operands.first?.text == "run", let name = line.operands.dropFirst().first?.name, name.contains(".") {
            return .terminal("Running \(name)", .running)
        }
        return goal(call, line)
    }

    static func swift(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        if let name = line.operands.first.flatMap({ ProgramTable.scriptName($0.text) }) {
            return .terminal("Running \(name)", .running)
        }
        return goal(call, line)
    }

    static func make(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        guard let target = line.operands.first(where: { !$0.isAssignment }) else { return .building }
        switch target.text {
        case "all", "build", "release": return .building
        case "test", "tests", "check": return .tests
        default:
            let name = target.isOpaque ? nil : ProgramTable.runningName(target.text)
            return .terminal("Running make" + (name.map { " \($0)" } ?? ""), .running)
        }
    }

    /// `cargo build`, `mvn clean package`.
    static func goal(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let program = call.program
        let words = line.operands.filter { !$0.isOpaque && !$0.text.hasPrefix("+") }.map(\.text)
        // mvn and gradle take several goals; the last one decides the result.
        let word = program == "mvn" || program == "gradle" ? words.last : words.first
        guard let goal = word?.split(separator: ":").last else { return .terminal("Running \(program)", .running) }
        switch (program, goal) {
        case (_, "test"), (_, "nextest"), ("gradle", "check"), ("mvn", "verify"): return .tests
        case (_, "build"), (_, "package"), (_, "compile"), (_, "assemble"), (_, "bootJar"), ("mvn", "install"):
            return .building
        case (_, "clippy"), (_, "fmt"), (_, "vet"), (_, "format"), (_, "lint"): return .codeStyle
        case ("cargo", "add"), ("cargo", "install"), ("go", "get"), ("go", "install"):
            let names = line.operands.dropFirst().compactMap { PackageCommands.packageName($0, sign: "@") }
            let shown = program == "go" ? names.compactMap { LabelText.name(ofPath: $0) } : names
            return .terminal("Installing \(LabelText.list(shown) ?? "dependencies")", .building)
        default: return .terminal("Running \(program)", .running)
        }
    }
}
