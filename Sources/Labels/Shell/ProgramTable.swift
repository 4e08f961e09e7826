import Basics

/// One row names a program or sub-command. A program without a row is "Running NAME".
enum ProgramTable {
    static func label(for call: ProgramCall) -> CommandLabel {
        guard let rule = rules[""]?[call.program] else { return other(call) }
        return rule.label(for: call) { ParsedArguments(call.arguments, OptionTable.options(call.program)) }
    }

    /// The rules by group and name; programs themselves are in the group "".
    static let rules: [String: [String: ProgramRule]] = {
        var table: [String: [String: ProgramRule]] = [:]
        for rule in rows {
            let (groups, names) = OptionTable.names(rule.names[...])
            for group in groups { for name in names { table[group, default: [:]][name] = rule } }
        }
        return table
    }()

    static let shells = Set(words: "bash sh zsh dash fish ksh ash")

    private static let rows: [ProgramRule] = [
        // Preparation: these never name a line.
        .fixed(
            """
            set unset export source . alias unalias shopt ulimit umask trap local declare typeset readonly return exit true \
            false : [ [[ wait shift let break continue for case esac fi done function select in hash read exec popd
            """,
            .terminal("Running a command", .setting)
        ),
        .code("cd pushd", FileCommands.changingFolder),

        // Fixed labels.
        .fixed("pwd", .files("Checking current folder", .checking)),
        .fixed("df", .files("Checking disk space", .checking)),
        .fixed("ps top htop lsof pgrep", .terminal("Checking running processes", .checking)),
        .fixed("kill pkill killall", .terminal("Stopping a process", .running)),
        .fixed("date", .terminal("Checking the time", .checking)),
        .fixed("whoami uname env printenv hostname id", .terminal("Checking system info", .checking)),
        .fixed("tailscale ip ifconfig", .network("Checking network", .checking)),
        .fixed("sqlite3 psql mysql redis-cli", .terminal("Querying the database", .running)),
        .fixed("ffmpeg sips magick", CommandLabel(text: "Converting media", category: .media, rank: .running)),
        .fixed("pandoc", .files("Converting document", .running)),
        .fixed("yt-dlp", .network("Downloading media", .fetching)),
        .fixed("echo printf", .terminal("Printing text", .printing)),
        .fixed("pytest jest vitest mocha rspec phpunit tox", .tests),
        .fixed("tsc cmake", .building),
        .fixed("tr", .terminal("Processing text", .reading)),

        // Reading files.
        .files("cat", "Reading", none: "input", .reading, ignoring: { $0.text == "-" }),
        .files("bat head nl", "Reading", none: "input", .reading),
        // `+G` names the starting line.
        .files("less more", "Reading", none: "input", .reading, ignoring: { $0.text.hasPrefix("+") }),
        .code("tail", FileCommands.tail),
        .files("ls tree", "Listing", .checking),
        .files("stat file du md5sum sha1sum sha256sum sha512sum md5 cksum b2sum shasum", "Checking", .checking),
        .code("test", FileCommands.test),
        .code("diff cmp", FileCommands.comparing),

        // Changing files.
        .files("mkdir", "Creating folder", or: "a folder", .managing),
        .files("touch", "Creating", or: "a file", .managing),
        .files("rm trash unlink", "Deleting", .managing),
        .files("rmdir", "Deleting", or: "folders", .managing),
        .firstFile("ln", "Linking", .managing),
        .code("chmod chown chgrp", FileCommands.permissions),
        .code("mv", TransferCommands.moving),
        .code("cp", TransferCommands.copying),
        .code("scp rsync", TransferCommands.remoteCopying),
        .code("tar bsdtar", FileCommands.tar),
        .firstFile("gunzip bunzip2 unxz", "Extracting", .managing),
        .firstFile("zip", "Archiving", .managing),
        .code("unzip gzip bzip2 xz zstd", FileCommands.packing),

        // Text.
        .code("tee", TextCommands.tee),
        .code("sed", TextCommands.sed),
        .code("awk cut sort uniq wc", TextCommands.processing),
        .code("jq yq", TextCommands.data),
        .code("apply_patch") { call, _ in
            let patch = (call.documents + call.arguments.map(\.text)).joined(separator: "\n")
            return .files(PatchFiles.label(of: patch), .writing)
        },

        // Searching.
        .code("grep rg ag ack", SearchCommands.grep),
        .code("git > grep") { call, _ in label(for: call.calling("grep", call.arguments)) },
        .code("find", SearchCommands.find),
        .code("fd") { _, line in SearchCommands.named(line.operands.first) },
        .code("mdfind") { _, line in SearchCommands.named(line.value("-name") ?? line.operands.first) },
        .code("which whereis type command") { _, line in
            .terminal("Looking for \(line.operands.listed ?? "a program")", .checking)
        },

        // Network.
        .code("curl", DownloadCommands.curl),
        .code("wget", DownloadCommands.wget),
        .code("aria2c", DownloadCommands.aria2),
        .code("http https xh", DownloadCommands.httpie),
        .code("agent-browser") { call, _ in
            let text = BrowserLabels.text(ofCommand: call.arguments.map(\.text).joined(separator: " "))
            return CommandLabel(text: text, category: .browser, rank: .fetching)
        },
        .code("ssh sftp") { call, line in
            let host = line.operands.first?.host ?? "a server"
            let runs = call.program == "ssh" && line.operands.count > 1
            return .network(runs ? "Running a command on \(host)" : "Connecting to \(host)", .remote)
        },
        .code("ping dig nslookup") { _, line in
            let operand = line.operands.first { !$0.text.hasPrefix("@") && !$0.text.hasPrefix("+") }
            return .network("Checking \((operand ?? line.value("-x"))?.host ?? "network")", .checking)
        },

        // Versions.
        .group("git") { call, line in ProgramRule.running(call, line, .fetching) },
        .fixed("git > status rev-parse", .terminal("Checking git status", .checking)),
        .fixed("git > diff", .terminal("Reviewing changes", .checking)),
        .fixed("git > log show blame shortlog", .terminal("Reading git history", .checking)),
        .fixed("git > add stage", .terminal("Staging changes", .fetching)),
        .fixed("git > commit", .terminal("Committing changes", .fetching)),
        .fixed("git > push", .network("Pushing changes", .remote)),
        .fixed("git > pull", .network("Pulling changes", .fetching)),
        .fixed("git > fetch", .network("Fetching changes", .fetching)),
        .fixed("git > rebase", .terminal("Rebasing", .fetching)),
        .fixed("git > stash", .terminal("Stashing changes", .fetching)),
        .fixed("git > reset restore", .terminal("Restoring files", .fetching)),
        .fixed("git > tag", .terminal("Tagging", .fetching)),
        .fixed("git > init", .terminal("Creating git repository", .fetching)),
        .code("git > clone", GitCommands.clone),
        .code("git > switch checkout", GitCommands.switching),
        .code("git > merge", GitCommands.merge),
        .code("git > branch", GitCommands.branch),
        .group("gh") { _, _ in .network("Using GitHub", .fetching) },
        .group("gh > pr", "gh pr") { _, _ in .network("Checking pull requests", .fetching) },
        .fixed("gh pr > create", .network("Creating pull request", .remote)),
        .group("gh > issue", "gh issue") { _, _ in .network("Checking issues", .fetching) },
        .fixed("gh issue > create", .network("Creating issue", .remote)),

        // Packages.
        .group("npm pnpm yarn bun", "npm", otherwise: PackageCommands.otherScript),
        .code("npm > run run-script rum") { _, line in
            line.operands.first.map { PackageCommands.script($0.text) } ?? PackageCommands.checking
        },
        .code("npm > x dlx exec") { call, _ in label(for: call.calling("npx", call.arguments)) },
        .fixed("npm > test t tst", .tests),
        .fixed("npm > build", .building),
        .fixed("npm > start dev", PackageCommands.starting),
        .fixed("npm > lint format", .codeStyle),
        .code("npx bunx uvx pipx", PackageCommands.oneOff),
        .group("pip uv poetry yum dnf apk gem conda brew apt"),
        .group("bundle") { call, line in
            let hasNone = line.operands.first?.isOpaque ?? true
            return hasNone ? .terminal("Installing dependencies", .running) : ProgramRule.running(call, line)
        },
        .code("\(managers), npm > install i add ci", PackageCommands.install),
        .fixed(
            "\(managers), npm > update upgrade up dist-upgrade full-upgrade",
            .terminal("Updating packages", .building)
        ),
        .code("\(managers), npm > remove uninstall rm un purge autoremove del r", PackageCommands.remove),
        .fixed("\(managers), npm > list ls show info search freeze outdated check view", PackageCommands.checking),
        .fixed("\(managers), npm > audit why leaves deps policy", PackageCommands.checking),
        .code("\(managers) > run exec", PackageCommands.runInside),
        .code("uv > pip") { call, _ in label(for: call.calling("pip", call.arguments)) },
        .fixed("uv > venv", .terminal("Creating a virtual environment", .building)),
        .fixed("uv, poetry > sync", .terminal("Installing dependencies", .building)),

        // Building.
        .code("cargo mvn gradle", BuildCommands.goal),
        .code("go", BuildCommands.go),
        .code("swift", BuildCommands.swift),
        .code("make", BuildCommands.make),
        .code("xcodebuild") { call, _ in
            call.arguments.contains { $0.text == "test" || $0.text == "test-without-building" } ? .tests : .building
        },

        // Scripts.
        .code("python", ScriptCommands.python),
        .code("node", ScriptCommands.node),
        .code("perl") { call, line in
            TextCommands.perlEdit(call) ?? ScriptCommands.run(call, line, "Perl", inline: line.has("-e", "-E"))
        },
        .script("ruby", "Ruby", inline: "-e"),
        .script("php", "PHP", inline: "-r"),
        .script("osascript", "AppleScript", inline: "-e"),
        .script("bash sh zsh dash fish ksh ash", "shell", inline: "-c"),
        .code("deno", ScriptCommands.deno),

        // Containers and services.
        .group("docker"),
        .group("docker > compose", "docker compose") { _, _ in .terminal("Running docker compose", .running) },
        .code("docker-compose") { call, _ in
            label(for: call.calling("docker", [ShellWord(text: "compose")] + call.arguments))
        },
        .code("docker > container image") { call, _ in label(for: call) },
        .fixed("docker > build buildx", .terminal("Building image", .building)),
        .code("docker > pull") { _, line in .network("Pulling image\(ContainerCommands.image(line))", .fetching) },
        .code("docker > run create", ContainerCommands.run),
        .code("docker compose > run", ContainerCommands.run),
        .fixed("docker compose > build", .terminal("Building containers", .building)),
        .fixed("docker compose > pull", .network("Pulling images", .fetching)),
        .fixed("docker, docker compose > up start", .terminal("Starting containers", .running)),
        .fixed("docker, docker compose > down stop kill", .terminal("Stopping containers", .running)),
        .fixed("docker, docker compose > restart", .terminal("Restarting containers", .running)),
        .fixed("docker, docker compose > logs", .terminal("Reading container logs", .reading)),
        .fixed("docker, docker compose > ps ls stats top inspect", .terminal("Checking containers", .checking)),
        .code("systemctl launchctl service", ContainerCommands.service),

        // The rest.
        .code("open", ScriptCommands.open),
        .code("sleep", ScriptCommands.sleep),
        .group("openclaw"),
    ]

    private static let managers = "pip, uv, poetry, yum, dnf, apk, gem, conda, brew, apt, bundle"

    // MARK: programs without a row

    private static func other(_ call: ProgramCall) -> CommandLabel {
        guard let path = call.path else { return .unknown }
        if path.contains("/"), let name = scriptName(path) { return .terminal("Running \(name)", .running) }
        return .terminal("Running \(runningName(call.program) ?? "a command")", .running)
    }

    /// The name if it is short, plain and not a secret.
    static func runningName(_ name: String) -> String? {
        guard (1...24).contains(name.utf8.count), SecretMask.name(name) == name else { return nil }
        let isPlain = name.utf8.allSatisfy {
            ($0.isASCIILetter && $0 >= 0x61) || $0.isASCIIDigit || "._+-".utf8.contains($0)
        }
        return isPlain ? name : nil
    }

    /// The file's name if it ends like a script's.
    static func scriptName(_ path: String) -> String? {
        guard let name = LabelText.name(ofPath: path), let dot = name.lastIndex(of: "."), dot > name.startIndex else {
            return nil
        }
        return scriptEndings.contains(name[name.index(after: dot)...].lowercased()) ? name : nil
    }

    private static let scriptEndings = Set(
        words:
            "sh bash zsh fish py js mjs cjs ts mts jsx tsx rb pl php lua ps1 bat cmd command swift scpt applescript r"
    )
}
