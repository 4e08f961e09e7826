import Basics

/// Containers, services and what is left.
extension ProgramTable {
    static let services: [String: ProgramRule] = [
        "docker": .custom(docker),
        "docker-compose": .custom { command, _ in compose(command.arguments) },
        "systemctl": .custom { command, _ in
            let line = CommandLine(
                command.arguments,
                valued: Set(words: "-H --host -M --machine -t --type -p --property -n")
            )
            return service(line.operands.first, line.operands.dropFirst(), program: "systemctl")
        },
        "launchctl": .custom { command, _ in
            let line = CommandLine(command.arguments)
            return service(line.operands.first, line.operands.dropFirst().suffix(1), program: "launchctl")
        },
        "service": .custom { command, _ in
            let words = CommandLine(command.arguments).operands
            return service(words.dropFirst().first, words.prefix(1), program: "service")
        },
        "open": .custom { command, _ in
            let line = CommandLine(command.arguments, valued: ["-a", "-b"])
            guard let target = line.operands.first ?? line.value("-a", "-b"), !target.isOpaque else {
                return CommandLabel("Opening a file", .terminal, .running)
            }
            let host = target.text.containsText("://") ? LabelText.host(in: target.text) : nil
            return CommandLabel("Opening \(host ?? LabelText.name(of: target) ?? "a file")", .terminal, .running)
        },
        "sleep": .custom { command, _ in
            guard let word = command.arguments.first, !word.isOpaque, word.text.utf8.count <= 8,
                let unit = word.text.last, word.text.first?.isNumber == true
            else { return CommandLabel("Waiting", .terminal, .printing) }
            let number = unit.isNumber ? word.text[...] : word.text.dropLast()
            guard number.allSatisfy({ $0.isNumber || $0 == "." }), unit.isNumber || "smhd".contains(unit) else {
                return CommandLabel("Waiting", .terminal, .printing)
            }
            return CommandLabel("Waiting \(number)\(unit.isNumber ? "s" : String(unit))", .terminal, .printing)
        },
        "openclaw": .custom { command, _ in
            let line = CommandLine(command.arguments, valued: Set(words: "--profile --log-level"))
            let name = line.operands.first.flatMap { $0.isOpaque ? nil : runningName($0.text) }
            return CommandLabel("Running openclaw" + (name.map { " \($0)" } ?? ""), .terminal, .running)
        },
    ]

    // MARK: containers

    private static let dockerValued = Set(
        words: """
            -e --env --env-file -v --volume -p --publish --name -w --workdir -u --user --network --net --entrypoint -m --memory \
            --cpus --gpus --mount -h --hostname --label -l --platform --restart --add-host --cap-add --cap-drop --device --dns \
            --ip --log-driver --log-opt --pull --shm-size --tmpfs --ulimit --volumes-from --security-opt --link --expose --pid \
            --ipc --userns --runtime --stop-signal --health-cmd -c --context -H --host --log-level -f --file --project-name \
            --profile --progress
            """
    )

    private static func docker(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let globals = CommandLine(
            command.arguments,
            valued: Set(words: "-c --context -H --host --log-level --config"),
            stopsAtOperand: true
        )
        guard let sub = globals.operands.first, !sub.isOpaque else { return terminal("Running docker", .running) }
        let rest = Array(globals.operands.dropFirst())
        switch sub.text {
        case "compose": return compose(rest)
        case "container", "image": return docker(ShellCommand(program: "docker", arguments: rest), depth: depth)
        case "run", "create":
            return terminal("Running container" + (image(in: rest, follows: false).map { " \($0)" } ?? ""), .running)
        case "pull":
            return CommandLabel(
                "Pulling image" + (image(in: rest, follows: true).map { " \($0)" } ?? ""),
                .network,
                .fetching
            )
        case "build", "buildx": return terminal("Building image", .building)
        default:
            return containers(sub.text)
                ?? terminal(runningName(sub.text).map { "Running docker \($0)" } ?? "Running docker", .running)
        }
    }

    private static func compose(_ arguments: [ShellWord]) -> CommandLabel? {
        let valued = Set(
            words: "-f --file -p --project-name --profile --env-file --project-directory --parallel --ansi --progress"
        )
        let line = CommandLine(arguments, valued: valued, stopsAtOperand: true)
        guard let sub = line.operands.first, !sub.isOpaque else { return terminal("Running docker compose", .running) }
        switch sub.text {
        case "build": return terminal("Building containers", .building)
        case "pull": return CommandLabel("Pulling images", .network, .fetching)
        case "run":
            let name = image(in: Array(line.operands.dropFirst()), follows: false)
            return terminal("Running container" + (name.map { " \($0)" } ?? ""), .running)
        default: return containers(sub.text) ?? terminal("Running docker compose", .running)
        }
    }

    private static func containers(_ sub: String) -> CommandLabel? {
        switch sub {
        case "up", "start": terminal("Starting containers", .running)
        case "down", "stop", "kill": terminal("Stopping containers", .running)
        case "restart": terminal("Restarting containers", .running)
        case "logs": terminal("Reading container logs", .reading)
        case "ps", "ls", "stats", "top", "inspect": terminal("Checking containers", .checking)
        default: nil
        }
    }

    /// The image without registry, tag and digest.
    private static func image(in arguments: [ShellWord], follows: Bool) -> String? {
        var valued = dockerValued
        if follows { valued.subtract(["-f", "-c", "-p"]) }
        guard let word = CommandLine(arguments, valued: valued, stopsAtOperand: true).operands.first,
            let name = LabelText.name(of: word)
        else { return nil }
        let bare = name.prefix { $0 != ":" && $0 != "@" }
        return bare.isEmpty ? nil : String(bare)
    }

    private static func terminal(_ text: String, _ rank: CommandLabel.Rank) -> CommandLabel {
        CommandLabel(text, .terminal, rank)
    }

    // MARK: services

    private static func service(_ action: ShellWord?, _ names: some Collection<ShellWord>, program: String)
        -> CommandLabel?
    {
        let shown = LabelText.list(names.compactMap { LabelText.name(of: $0) })
        switch action?.text {
        case "start", "enable", "load", "bootstrap": return terminal("Starting \(shown ?? "services")", .running)
        case "stop", "disable", "unload", "bootout", "kill":
            return terminal("Stopping \(shown ?? "services")", .running)
        case "restart", "reload", "try-restart", "reload-or-restart", "kickstart":
            return terminal("Restarting \(shown ?? "services")", .running)
        case "status", "is-active", "is-enabled", "is-failed", "show", "list", "print", "cat", "list-units",
            "list-unit-files",
            "list-timers":
            return terminal("Checking \(shown ?? "services")", .checking)
        default: return terminal("Running \(program)", .running)
        }
    }
}
