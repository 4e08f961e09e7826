/// Tools that build and test.
extension ProgramTable {
    static let builds: [String: ProgramRule] = [
        "cargo": tool("cargo", valued: "-p --package --manifest-path --target --features -j --jobs --bin --example"),
        "go": .custom { command, depth in
            let line = CommandLine(command.arguments, valued: Set(words: "-o -tags -run -C -ldflags -count -timeout"))
            if line.operands.first?.text == "run", let file = line.operands.dropFirst().first,
                let name = LabelText.name(of: file), name.contains(".")
            {
                return CommandLabel("Running \(name)", .terminal, .running)
            }
            return subcommand("go", line)
        },
        "swift": .custom { command, depth in
            let line = CommandLine(
                command.arguments,
                valued: Set(
                    words:
                        "-c --configuration --product --target --package-path --filter -j --jobs --scratch-path -Xswiftc"
                )
            )
            if let first = line.operands.first, let name = scriptName(first.text) {
                return CommandLabel("Running \(name)", .terminal, .running)
            }
            return subcommand("swift", line)
        },
        "mvn": tool("mvn", valued: "-f --file -P --activate-profiles -pl --projects -T --threads -s --settings"),
        "gradle": tool("gradle", valued: "-p --project-dir -b --build-file -x --exclude-task"),
        "xcodebuild": .custom { command, _ in
            let tests = command.arguments.contains { $0.text == "test" || $0.text == "test-without-building" }
            return CommandLabel(tests ? "Running tests" : "Building", .terminal, .building)
        },
        "make": .custom { command, _ in
            let line = CommandLine(
                command.arguments,
                valued: Set(words: "-C --directory -f --file --makefile -I -o -W -l")
            )
            let target = line.operands.first { !$0.isAssignment }
            guard let target else { return CommandLabel("Building", .terminal, .building) }
            switch target.text {
            case "all", "build", "release": return CommandLabel("Building", .terminal, .building)
            case "test", "tests", "check": return CommandLabel("Running tests", .terminal, .building)
            default:
                let name = target.isOpaque ? nil : runningName(target.text)
                return CommandLabel(name.map { "Running make \($0)" } ?? "Running make", .terminal, .running)
            }
        },
    ]

    private static func tool(_ name: String, valued: String) -> ProgramRule {
        let valued = Set(words: valued)
        return .custom { command, _ in subcommand(name, CommandLine(command.arguments, valued: valued)) }
    }

    private static func subcommand(_ program: String, _ line: CommandLine) -> CommandLabel {
        let words = line.operands.filter { !$0.isOpaque && !$0.text.hasPrefix("+") }.map(\.text)
        // mvn and gradle take several goals, the last tells what comes out.
        let last = program == "mvn" || program == "gradle" ? words.last : words.first
        guard let sub = last?.split(separator: ":").last.map(String.init) else {
            return CommandLabel("Running \(program)", .terminal, .running)
        }
        if kind(of: sub, program).tests { return CommandLabel("Running tests", .terminal, .building) }
        if kind(of: sub, program).builds { return CommandLabel("Building", .terminal, .building) }
        if ["clippy", "fmt", "vet", "format", "lint"].contains(sub) {
            return CommandLabel("Checking code style", .terminal, .building)
        }
        let installs = ["cargo add", "cargo install", "go get", "go install"].contains("\(program) \(sub)")
        guard installs else { return CommandLabel("Running \(program)", .terminal, .running) }
        let names = line.operands.dropFirst().compactMap { packageName($0, sign: "@") }
        let shown = program == "go" ? names.compactMap { LabelText.name(ofPath: $0) } : names
        return CommandLabel("Installing \(LabelText.list(shown) ?? "dependencies")", .terminal, .building)
    }

    private static func kind(of sub: String, _ program: String) -> (tests: Bool, builds: Bool) {
        let tests = ["test", "nextest"].contains(sub) || ["gradle check", "mvn verify"].contains("\(program) \(sub)")
        let builds =
            ["build", "package", "compile", "assemble", "bootJar"].contains(sub) || "\(program) \(sub)" == "mvn install"
        return (tests, builds)
    }
}
