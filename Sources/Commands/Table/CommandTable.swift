/// All commands, in the order people meet them. The row of a command stands beside its handler; the executable runs the
/// commands whose rows are here.
package enum CommandTable {
    package static let root = CommandSpec("ladle", "Local HTTP and SSE API to an OpenClaw gateway").with {
        $0.groups = groups
        $0.subcommands = groups.flatMap(\.commands)
        $0.options = [OptionSpec("--version", nil, "Show the version")]
        $0.examples = [
            "ladle serve --demo", "ladle send 'turn the lights off' --wait", "ladle watch", "ladle outbox",
            "ladle doctor",
        ]
    }

    private static let groups = [
        CommandGroup("Begin", [serve, .status, doctor]),
        CommandGroup("Messages", [.send, .outbox, .history, .sessions, .wake, .identity, .profile]),
        CommandGroup(
            "What the agent does",
            [.watch, .top, .activity, .glance, .runs, .abort, .automations, .usage, .agents, .models, .nodes]
        ),
        CommandGroup("What a person decides, and is told", [.approvals, .questions, .notify, .mute]),
        CommandGroup("Who may use it", [.pair, .token, .clients, .context]),
        CommandGroup(
            "Care",
            [
                .logs, .cluster, .config, tls, backup, restore, migrate, discover, demoGateway, .completions, .complete,
                .man,
                .version,
                .help,
            ]
        ),
    ]

    private static let serve = CommandSpec("serve", "Run the API").with {
        $0.takesConfiguration = true
        $0.examples = [
            "ladle serve", "ladle serve --demo",
            "ladle serve --gateway ws://100.64.0.1:18789 --token-file ~/token",
            "ladle serve --listen tailnet --tls-cert cert.pem --tls-key key.pem",
        ]
    }

    private static let doctor = CommandSpec("doctor", "Find problems, and for each the command that repairs it").with {
        $0.takesConfiguration = true
        $0.options = [
            .json, .socket,
            OptionSpec("--report", nil, "Print what Ladle saw of the gateway, without secrets, for a report"),
        ]
    }

    private static let backup = CommandSpec("backup", "Write a copy of the state into one file, also while serve runs")
        .with {
            $0.arguments = [ArgumentSpec("file", "The new file", values: .files)]
            $0.options = [.json, .state, .demoState]
        }

    private static let restore = CommandSpec("restore", "Put a backup in the place of the state").with {
        $0.arguments = [ArgumentSpec("file", "The backup", values: .files)]
        $0.options = [.json, .state, .demoState]
    }

    private static let migrate = CommandSpec("migrate", "Take the state from a file to a PostgreSQL server, or back")
        .with {
            $0.arguments = [
                ArgumentSpec("from", "A state directory, or a URL postgresql://HOST/NAME", values: .files),
                ArgumentSpec("to", "The other of the two", values: .files),
            ]
            $0.options = [.json]
            $0.takesConfiguration = true
            $0.examples = [
                "ladle migrate ~/.local/state/ladle postgresql://ladle@db.example/ladle",
                "ladle migrate postgresql://ladle@db.example/ladle ~/.local/state/ladle",
            ]
        }

    private static let discover = CommandSpec("discover", "Look for gateways on the network").with {
        $0.takesConfiguration = true
        $0.options = [
            .json, OptionSpec("--ladle", nil, "Look for Ladles with advertise=true instead"),
            OptionSpec("--domain", "NAME", "Domain for unicast DNS-SD"),
            OptionSpec("--server", "ADDRESS", "Name server to ask about the domain; by default the system's"),
            OptionSpec("--timeout", "SECONDS", "How long to wait for answers"),
        ]
    }

    private static let demoGateway = CommandSpec("demo-gateway", "Run a gateway that plays scripted runs").with {
        $0.options = [
            OptionSpec("--port", "PORT", "Port on loopback; 0 takes a free one"),
            OptionSpec("--protocol", "VERSION", "Protocol version", values: .words(["3", "4"])),
            OptionSpec("--release", "NAME", "Gateway release to imitate; a whole version with its faults"),
            OptionSpec("--token", "TOKEN", "Token of the demo; not a secret"),
            OptionSpec("--password", "PASSWORD", "Password of the demo; not a secret"),
            OptionSpec("--speed", "FACTOR", "Pace of scripted runs; 0 plays them at once"),
            OptionSpec("--tick", "DURATION", "Interval of ticks"),
            OptionSpec("--main-key", "KEY", "Name of the main session"),
        ]
    }

    private static let tls = CommandSpec("tls", "Certificates for the listeners").with {
        $0.subcommands = [
            CommandSpec("self-signed", "Make a key and a certificate and print its SHA-256 pin").with {
                $0.options = [
                    .json,
                    OptionSpec("--host", "NAME", "Name or address in the certificate", repeats: true),
                    OptionSpec("--days", "N", "How long it is valid"),
                    OptionSpec("--cert", "FILE", "Where the certificate goes", values: .files),
                    OptionSpec("--key", "FILE", "Where the key goes, mode 0600", values: .files),
                ]
            }
        ]
    }
}
