/// All commands, in the order people meet them. The row of a command stands beside its handler; the executable runs the
/// commands whose rows are here.
package enum CommandTable {
    package static let root = CommandSpec("ladle", "Local HTTP and SSE API to an OpenClaw gateway").with {
        $0.subcommands = commands
        $0.options = [OptionSpec("--version", nil, "Show the version")]
        $0.examples = [
            "ladle serve --demo", "ladle send 'turn the lights off' --wait", "ladle watch", "ladle outbox",
            "ladle doctor",
        ]
    }

    package static let commands: [CommandSpec] = [
        CommandSpec("serve", "Run the API").with {
            $0.takesConfiguration = true
            $0.examples = [
                "ladle serve", "ladle serve --demo",
                "ladle serve --gateway ws://100.64.0.1:18789 --token-file ~/token",
                "ladle serve --listen tailnet --tls-cert cert.pem --tls-key key.pem",
            ]
        },
        .send, .history, .watch, .activity, .glance, .runs, .abort, .approvals, .questions, .notify, .outbox, .identity,
        .profile, .sessions, .agents, .models, .usage, .automations, .nodes, .wake, .status, .pair, .token, .clients,
        .context,
        CommandSpec("doctor", "Find problems, and for each the command that repairs it").with {
            $0.takesConfiguration = true
            $0.options = [
                .json, .socket,
                OptionSpec("--report", nil, "Print what Ladle saw of the gateway, without secrets, for a report"),
            ]
        },
        .logs,
        CommandSpec("backup", "Write a copy of the state into one file, also while serve runs").with {
            $0.arguments = [ArgumentSpec("file", "The new file", values: .files)]
            $0.options = [.json, .state, .demoState]
        },
        CommandSpec("restore", "Put a backup in the place of the state").with {
            $0.arguments = [ArgumentSpec("file", "The backup", values: .files)]
            $0.options = [.json, .state, .demoState]
        },
        CommandSpec("discover", "Look for gateways on the network").with {
            $0.takesConfiguration = true
            $0.options = [
                .json, OptionSpec("--ladle", nil, "Look for Ladles with advertise=true instead"),
                OptionSpec("--domain", "NAME", "Domain for unicast DNS-SD"),
                OptionSpec("--server", "ADDRESS", "Name server to ask about the domain; by default the system's"),
                OptionSpec("--timeout", "SECONDS", "How long to wait for answers"),
            ]
        },
        CommandSpec("demo-gateway", "Run a gateway that plays scripted runs").with {
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
        },
        .config,
        CommandSpec("tls", "Certificates for the listeners").with {
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
        },
        .completions, .complete, .man, .version, .help,
    ]
}
