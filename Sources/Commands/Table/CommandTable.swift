/// All commands, in the order people meet them.
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
        send, history, watch,
        client("activity", "Show the runs that are active now", run: RunCommands.activity),
        glance,
        runs, abort, approvals, questions, notify, outbox,
        document("identity", "The agent's IDENTITY.md", fields: "name, creature, vibe, theme, emoji, avatar"),
        document(
            "profile",
            "The agent's knowledge of its user, USER.md",
            fields: "name, callName, pronouns, timezone, notes, context"
        ),
        sessions,
        client("agents", "List the agents of the gateway", run: ListCommands.agents),
        client(
            "models",
            "List the models that the gateway can use",
            run: UsageCommands.models,
            [],
            [OptionSpec("--view", "NAME", "Which ones", values: .words(["default", "configured", "all"]))]
        ),
        usage, automations, nodes, wake,
        client(
            "status",
            "Show the state of Ladle and of its connection to the gateway",
            run: StatusCommand.run,
            [],
            [OptionSpec("--ready", nil, "Only say whether a message could be stored now; for health checks")]
        ),
        pair, token, clients, context,
        CommandSpec("doctor", "Find problems, and for each the command that repairs it").with {
            $0.takesConfiguration = true
            $0.options = [.json, .socket]
        },
        CommandSpec("logs", "Show the log of the service and follow it").with {
            $0.run = LogsCommand.run
            $0.options = [
                .json, OptionSpec("--lines", "N", "How many lines to begin with; 50 by default"),
                OptionSpec("--no-follow", nil, "Only show what is there"),
            ]
        },
        CommandSpec("backup", "Write a copy of the state into one file, also while serve runs").with {
            $0.arguments = [ArgumentSpec("file", "The new file", values: .files)]
            $0.options = [.json, state, demoState]
        },
        CommandSpec("restore", "Put a backup in the place of the state").with {
            $0.arguments = [ArgumentSpec("file", "The backup", values: .files)]
            $0.options = [.json, state, demoState]
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
                OptionSpec("--release", "NAME", "Gateway release to imitate; one like 2026.6.11 with its faults"),
                OptionSpec("--token", "TOKEN", "Token of the demo; not a secret"),
                OptionSpec("--password", "PASSWORD", "Password of the demo; not a secret"),
                OptionSpec("--speed", "FACTOR", "Pace of scripted runs; 0 plays them at once"),
                OptionSpec("--tick", "DURATION", "Interval of ticks"),
                OptionSpec("--main-key", "KEY", "Name of the main session"),
            ]
        },
        config,
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
        CommandSpec("completions", "Print a completion script").with {
            $0.run = HelpCommands.completions
            $0.arguments = [ArgumentSpec("shell", "Which shell", values: .words(["bash", "zsh", "fish"]))]
            $0.examples = ["ladle completions bash > ~/.local/share/bash-completion/completions/ladle"]
        },
        client(
            "complete",
            "Print the words that a shell offers",
            run: HelpCommands.complete,
            [ArgumentSpec("list", "Which words", values: .words(ListedNames.allCases.map(\.rawValue)))]
        ).with { $0.isHidden = true },
        CommandSpec("man", "Print the manual page").with {
            $0.run = HelpCommands.manual
            $0.isHidden = true
        },
        CommandSpec("version", "Show the version").with {
            $0.run = HelpCommands.version
            $0.options = [.json]
        },
        CommandSpec("help", "Show help for a command").with {
            $0.run = HelpCommands.help
            $0.arguments = [ArgumentSpec("command", "The command", optional: true, repeats: true)]
        },
    ]

    private static func client(
        _ name: String,
        _ summary: String,
        run: @escaping CommandHandler,
        _ arguments: [ArgumentSpec] = [],
        _ options: [OptionSpec] = []
    ) -> CommandSpec {
        CommandSpec(name, summary).with {
            $0.run = run
            $0.isClient = true
            $0.arguments = arguments
            $0.options = options
        }
    }

    private static let state = OptionSpec("--state", "DIR", "State directory", values: .files)
    private static let demoState = OptionSpec("--demo", nil, "The state of ladle serve --demo")
    private static let session = OptionSpec("--session", "KEY", "Session; main by default", values: .listed(.sessions))
    private static let send = client(
        "send",
        "Send a message",
        run: SendCommand.run,
        [
            ArgumentSpec(
                "text",
                "The message; without it standard input is read",
                optional: true,
                repeats: true
            )
        ],
        [
            session,
            OptionSpec(
                "--wait",
                "SECONDS",
                "Wait for the reply and print it; 600 s by default",
                optionalValue: true
            ),
            OptionSpec(
                "--thinking",
                "LEVEL",
                "How much the model may think",
                values: .words(["off", "minimal", "low", "medium", "high"])
            ),
            OptionSpec("--attach", "FILE", "Attach a file", repeats: true, values: .files),
            OptionSpec("--ttl", "DURATION", "Give up after this time, such as 10m"),
            OptionSpec("--not-before", "TIME", "Do not send before this time, such as 2030-01-31T08:00:00Z"),
            OptionSpec("--idempotency-key", "KEY", "A repeat with the same key is not sent again"),
            OptionSpec("--force", nil, "Send it even if it is a word that stops the agent"),
        ]
    ).with {
        $0.examples = [
            "ladle send hello", "ladle send --wait 'what is the weather?'", "date | ladle send --session work",
        ]
    }

    private static let history = client(
        "history",
        "Show the messages of a session",
        run: HistoryCommand.run,
        [],
        [
            session,
            OptionSpec("--limit", "N", "How many; 20 by default"),
            OptionSpec("--before", "CURSOR", "Older than this"),
            OptionSpec("--after", "CURSOR", "Newer than this"),
        ]
    )

    private static let watch = client(
        "watch",
        "Show live activity as it happens",
        run: WatchCommand.run,
        [],
        [
            OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
            OptionSpec("--run", "ID", "Only this run", values: .listed(.runs)),
            OptionSpec("--types", "LIST", "Only these event types, such as run.*,outbox"),
            OptionSpec("--since", "CURSOR", "Continue after this event"),
            OptionSpec("--limit", "N", "Stop after so many events"),
            OptionSpec("--timeout", "SECONDS", "Stop after this time"),
            OptionSpec("--verbose", nil, "Show every event, not only messages, steps, replies and trouble"),
        ]
    ).with { $0.examples = ["ladle watch", "ladle watch --json --types run.ended | jq .run.text"] }

    private static let runs = client(
        "runs",
        "List runs, or show one",
        run: RunCommands.runs,
        [ArgumentSpec("run", "Id of one run", optional: true, values: .listed(.runs))],
        [
            OptionSpec("--active", nil, "Only active runs"),
            OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
            OptionSpec("--limit", "N", "How many"),
        ]
    )

    private static let abort = client(
        "abort",
        "Stop a run, or all runs of a session",
        run: RunCommands.abort,
        [ArgumentSpec("run", "Id of the run", optional: true, values: .listed(.runs))],
        [OptionSpec("--session", "KEY", "Stop the runs of this session", values: .listed(.sessions))]
    )

    private static let sessions = CommandSpec("sessions", "The conversations of the gateway").with {
        let key = ArgumentSpec("key", "Key of the session", values: .listed(.sessions))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "List the sessions of the gateway",
                run: SessionCommands.list,
                [],
                [
                    OptionSpec("--all", nil, "Also those of cron jobs, subagents and other machines"),
                    OptionSpec("--search", "WORDS", "Only those with this in title, label or key"),
                    OptionSpec("--limit", "N", "How many"),
                ]
            ),
            client(
                "rename",
                "Give a session a label",
                run: SessionCommands.rename,
                [key, ArgumentSpec("label", "The label")]
            ),
            client(
                "model",
                "Give a session another model",
                run: SessionCommands.model,
                [key, ArgumentSpec("model", "As PROVIDER/MODEL, or default")]
            ),
            client("reset", "Begin a session anew", run: SessionCommands.reset, [key]),
            client("compact", "Shorten what the model reads of a session", run: SessionCommands.compact, [key]),
            client(
                "delete",
                "Delete a session",
                run: SessionCommands.delete,
                [key],
                [
                    OptionSpec("--force", nil, "Also while messages wait for it in the outbox"),
                    OptionSpec("--keep-transcript", nil, "The gateway keeps the transcript"),
                ]
            ),
        ]
    }

    private static let approvals = CommandSpec("approvals", "What the agent wants to do and may not do by itself").with
    {
        let id = ArgumentSpec("id", "Id of the approval", values: .listed(.approvals))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "Show what waits for a decision",
                run: ApprovalCommands.list,
                [],
                [
                    OptionSpec("--all", nil, "Also what does not wait any more"),
                    OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
                    OptionSpec("--limit", "N", "How many"),
                ]
            ),
            client("show", "Show one, and what became of it", run: ApprovalCommands.show, [id]),
            client(
                "allow",
                "Allow it; the gateway's host executes it",
                run: ApprovalCommands.allow,
                [id],
                [OptionSpec("--always", nil, "From now on, without a question; needs the scope admin")]
            ),
            client("deny", "Deny it", run: ApprovalCommands.deny, [id]),
        ]
        $0.examples = ["ladle approvals", "ladle approvals allow 23f3fcf8"]
    }

    private static let questions = CommandSpec("questions", "What the agent asks, with the newest gateways").with {
        let id = ArgumentSpec("id", "Id of the question", values: .listed(.questions))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "Show what waits for an answer",
                run: QuestionCommands.list,
                [],
                [
                    OptionSpec("--all", nil, "Also what does not wait any more"),
                    OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
                ]
            ),
            client("show", "Show one, and what became of it", run: QuestionCommands.show, [id]),
            client(
                "answer",
                "Answer it; without ANSWER the answer is read from standard input",
                run: QuestionCommands.answer,
                [
                    id,
                    ArgumentSpec(
                        "answer",
                        "An option or a text; with several questions NAME=ANSWER",
                        optional: true,
                        repeats: true
                    ),
                ]
            ),
            client("cancel", "Tell the agent that nobody will answer", run: QuestionCommands.cancel, [id]),
        ]
        $0.examples = ["ladle questions", "ladle questions answer 23f3fcf8 blue"]
    }

    private static let notify = CommandSpec("notify", "What you are told, and where: phone, webhook, desktop").with {
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "Show what was told, and how it was delivered",
                run: NotifyCommands.list,
                [],
                [
                    OptionSpec("--sinks", nil, "Show the sinks instead, with their state"),
                    OptionSpec(
                        "--delivery",
                        "STATE",
                        "Only what has a delivery in this state",
                        values: .words(["pending", "held", "sent", "failed", "dropped"])
                    ),
                    OptionSpec("--limit", "N", "How many"),
                ]
            ),
            client(
                "test",
                "Send a message to a sink at once",
                run: NotifyCommands.test,
                [ArgumentSpec("sink", "Name or id of the sink", values: .listed(.sinks))]
            ),
            client(
                "send",
                "Say something to your sinks, from a script",
                run: NotifyCommands.send,
                [ArgumentSpec("title", "What to say", repeats: true)],
                [
                    OptionSpec("--text", "TEXT", "More than the title"),
                    OptionSpec("--priority", "N", "From 1 to 5; 3 by default"),
                    OptionSpec("--sink", "NAME", "Only this sink; may be given several times", values: .listed(.sinks)),
                ]
            ),
            client(
                "mute",
                "Be silent for a while, but for what is urgent",
                run: NotifyCommands.mute,
                [ArgumentSpec("duration", "Such as 2h; 1h by default; off ends it", optional: true)]
            ),
        ]
        $0.examples = ["ladle notify test phone", "ladle notify send 'the washing is done'", "ladle notify mute 2h"]
    }

    private static let automations = CommandSpec("automations", "The jobs that the gateway runs by their schedules")
        .with {
            let id = ArgumentSpec("id", "Id of the automation", values: .listed(.automations))
            let limit = OptionSpec("--limit", "N", "How many")
            $0.usual = "list"
            $0.subcommands = [
                client("list", "List the automations of the gateway", run: AutomationCommands.list, [], [limit]),
                client("show", "Show one", run: AutomationCommands.show, [id]),
                client("runs", "List the runs of one that have ended", run: AutomationCommands.runs, [id], [limit]),
                client("run", "Run one now", run: AutomationCommands.run, [id], [key]),
                client("enable", "Let one run by its schedule", run: AutomationCommands.enable, [id]),
                client("disable", "Let one run no more by its schedule", run: AutomationCommands.disable, [id]),
            ]
            $0.examples = ["ladle automations", "ladle automations run 5b1f0a7c"]
        }

    private static let nodes = CommandSpec("nodes", "The devices that lend the gateway what they can do").with {
        let id = ArgumentSpec("id", "Id of the node", values: .listed(.nodes))
        $0.usual = "list"
        $0.subcommands = [
            client("list", "List the nodes and what may be asked of them", run: NodeCommands.list, []),
            client("show", "Show one, with each command and why it is not done", run: NodeCommands.show, [id]),
            client(
                "invoke",
                "Have one do something",
                run: NodeCommands.invoke,
                [
                    id, ArgumentSpec("command", "Such as system.notify"),
                    ArgumentSpec("name=value", "What the command takes", optional: true, repeats: true),
                ],
                [OptionSpec("--timeout", "SECONDS", "How long the node may take; 20 by default"), key]
            ),
        ]
        $0.examples = ["ladle nodes", "ladle nodes invoke 0d6f2b1c system.notify body='It is ready' title=Tea"]
    }

    private static let key = OptionSpec("--idempotency-key", "KEY", "A repeat with the same key is not done again")

    private static let wake = client(
        "wake",
        "Tell the agent something without waiting for a reply",
        run: AutomationCommands.wake,
        [ArgumentSpec("text", "What happened", repeats: true)],
        [
            session, OptionSpec("--later", nil, "At its next turn; without it the agent gets a turn now"),
            key,
        ]
    ).with { $0.examples = ["ladle wake the washing machine is done"] }

    private static let glance = client(
        "glance",
        "Show the state in one line, for a prompt or a status bar",
        run: GlanceCommand.run,
        [],
        [
            OptionSpec("--wait", "SECONDS", "Go on for so long, and print it again at each change"),
            OptionSpec("--private", nil, "Leave out titles and labels"),
        ]
    ).with { $0.examples = ["ladle glance", "ladle glance --format waybar --wait 86400"] }

    private static let usage = CommandSpec("usage", "What is used up of subscriptions, and what tokens cost").with {
        let days = [
            OptionSpec("--from", "DAY", "The first day, such as 2026-11-01; by default 30 days are shown"),
            OptionSpec("--to", "DAY", "The last day; today by default"),
        ]
        $0.usual = "show"
        $0.subcommands = [
            client("show", "Show how far each subscription is used up, and what today cost", run: UsageCommands.show),
            client(
                "cost",
                "Show tokens and cost by day",
                run: UsageCommands.cost,
                [],
                days + [
                    OptionSpec("--tz", "ZONE", "Time zone of the days, such as Europe/Berlin; by default the server's"),
                    OptionSpec("--agent", "NAME", "Only this agent", values: .listed(.agents)),
                ]
            ),
            client(
                "sessions",
                "Show tokens and cost by session, the latest first",
                run: UsageCommands.sessions,
                [],
                days + [OptionSpec("--limit", "N", "How many")]
            ),
        ]
        $0.examples = ["ladle usage", "ladle usage cost --from 2026-11-01"]
    }

    private static let outbox = CommandSpec("outbox", "Messages that wait or are on their way").with {
        let id = ArgumentSpec("id", "Id of the entry", values: .listed(.entries))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "List entries",
                run: OutboxCommands.list,
                [],
                [
                    OptionSpec(
                        "--only",
                        "STATE",
                        "Only entries in this state",
                        values: .words([
                            "queued", "sending", "retrying", "accepted", "unconfirmed", "delivered", "failed",
                            "cancelled", "expired",
                        ])
                    ),
                    OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
                    OptionSpec("--limit", "N", "How many"),
                ]
            ),
            client("show", "Show an entry and its attempts", run: OutboxCommands.show, [id]),
            client("retry", "Send an entry again", run: OutboxCommands.retry, [id]),
            client(
                "cancel",
                "Cancel an entry",
                run: OutboxCommands.cancel,
                [id],
                [OptionSpec("--force", nil, "Forget an entry that may have been delivered")]
            ),
            CommandSpec("recover", "Show the messages of a damaged database, and restore or discard them").with {
                $0.options = [
                    .json, state,
                    OptionSpec("--restore", nil, "Put its entries into the outbox again"),
                    OptionSpec("--discard", nil, "Give up its entries"),
                ]
            },
        ]
    }

    private static func document(_ name: String, _ summary: String, fields: String) -> CommandSpec {
        let agent = OptionSpec("--agent", "NAME", "Agent; by default the gateway's", values: .listed(.agents))
        return CommandSpec(name, summary).with {
            $0.usual = "show"
            $0.subcommands = [
                client(
                    "show",
                    "Show it",
                    run: DocumentCommands.show,
                    [],
                    [
                        agent, OptionSpec("--refresh", nil, "Ask the gateway now"),
                        OptionSpec("--markdown", nil, "Print the file itself"),
                    ]
                ),
                client(
                    "set",
                    "Set fields: \(fields)",
                    run: DocumentCommands.set,
                    [ArgumentSpec("name=value", "A field and its new value; empty clears", repeats: true)],
                    [agent]
                )
                .with { $0.examples = ["ladle \(name) set name=Wren"] },
                client("edit", "Edit the file with $EDITOR", run: DocumentCommands.edit, [], [agent]),
            ]
        }
    }

    private static let token = CommandSpec("token", "Tokens for clients").with {
        let id = ArgumentSpec("id", "Id or name of the token", values: .listed(.tokens))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "create",
                "Make a token; it is shown once",
                run: TokenCommands.create,
                [],
                [
                    OptionSpec("--name", "NAME", "What the token is for"),
                    OptionSpec("--scopes", "LIST", "Scopes: read, send, identity, control, approvals, nodes, admin"),
                    OptionSpec("--session", "KEY", "Only this session", repeats: true, values: .listed(.sessions)),
                    OptionSpec("--paths", "LIST", "Only these paths of the API and what is below them"),
                    OptionSpec("--expires", "DURATION", "How long it is valid, such as 90d"),
                ]
            ).with {
                $0.examples = [
                    "ladle token create --name kitchen --scopes read,send",
                    "ladle token create --name widget --scopes read --paths /v1/glance",
                ]
            },
            client("list", "List tokens", run: TokenCommands.list),
            client("rotate", "Replace the secret of a token", run: TokenCommands.rotate, [id]),
            client("revoke", "Revoke a token; its open streams close", run: TokenCommands.revoke, [id]),
        ]
    }

    private static let pair = client(
        "pair",
        "Show a QR code and a link that give one device a token",
        run: PairCommand.run,
        [],
        [
            OptionSpec("--name", "NAME", "Name of the token; phone by default"),
            OptionSpec("--scopes", "LIST", "Permissions; read,send by default"),
            OptionSpec("--session", "KEY", "Limit it to this session", repeats: true, values: .listed(.sessions)),
            OptionSpec("--paths", "LIST", "Only these paths of the API and what is below them"),
            OptionSpec("--expires", "DURATION", "When the token ends, such as 30d"),
            OptionSpec("--no-wait", nil, "Do not wait for the device"),
            OptionSpec(
                "--background",
                "COLOUR",
                "Background of the terminal, to draw without colours",
                values: .words(["dark", "light"])
            ),
        ]
    ).with { $0.examples = ["ladle pair", "ladle pair --name tablet --scopes read,send,approvals"] }

    private static let clients = CommandSpec("clients", "Devices that ask for a token").with {
        let code = ArgumentSpec("code", "The code the device shows", values: .listed(.codes))
        $0.usual = "list"
        $0.subcommands = [
            client("list", "List pairing requests", run: PairingCommands.list),
            client(
                "approve",
                "Give a device its token; shows what it asks for, and asks",
                run: PairingCommands.approve,
                [code],
                [
                    OptionSpec("--scopes", "LIST", "Grant these of the scopes it asks for, without a question"),
                    OptionSpec("--paths", "LIST", "Grant only these paths of the API and what is below them"),
                ]
            ),
            client("reject", "Refuse a device", run: PairingCommands.reject, [code]),
        ]
    }

    private static let context = CommandSpec("context", "Names for Ladles on other hosts").with {
        let name = ArgumentSpec("name", "Name of the context", values: .listed(.contexts))
        $0.usual = "list"
        $0.subcommands = [
            CommandSpec("list", "List contexts").with {
                $0.run = ContextCommands.list
                $0.options = [.json]
            },
            CommandSpec("add", "Add or replace a context, and use it").with {
                $0.run = ContextCommands.add
                $0.arguments = [
                    name, ArgumentSpec("url", "Where Ladle is, such as https://ladle.example, or a link of ladle pair"),
                ]
                $0.options = [.json, .tokenFile, .pin]
                $0.examples = [
                    "ladle context add home http://100.64.0.7:18780 --token-file token",
                    "ladle context add home LINK",
                ]
            },
            CommandSpec("use", "Let the commands talk to this one; local is this host").with {
                $0.run = ContextCommands.use
                $0.arguments = [name]
                $0.options = [.json]
            },
            CommandSpec("remove", "Forget a context").with {
                $0.run = ContextCommands.remove
                $0.arguments = [name]
                $0.options = [.json]
            },
        ]
    }

    private static let config = CommandSpec("config", "The configuration").with {
        $0.subcommands = [
            CommandSpec("check", "Check the configuration").with {
                $0.run = ConfigCommands.check
                $0.takesConfiguration = true
                $0.options = [.json]
            },
            CommandSpec("show", "Show every value in force").with {
                $0.run = ConfigCommands.show
                $0.takesConfiguration = true
                $0.options = [.json, OptionSpec("--origin", nil, "Say where each value comes from")]
            },
            CommandSpec("reference", "Print a table of all keys as Markdown").with {
                $0.run = ConfigCommands.reference
            },
        ]
    }
}
