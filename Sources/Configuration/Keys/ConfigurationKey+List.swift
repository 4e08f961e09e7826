/// Every key: its name, the values it takes, its default and its meaning. `ConfigurationTable` sorts them by name.
extension ConfigurationKey {
    private static let second: Int64 = 1000
    private static let minute: Int64 = 60_000
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 86_400_000
    private static let kibibyte: Int64 = 1 << 10
    private static let mebibyte: Int64 = 1 << 20
    private static let comma = ConfigurationKind.list(separator: ",")

    // MARK: The gateway and the connection to it

    package static let gatewayURL = ConfigurationKey("gateway.url", .url, short: "gateway")
        .means("URL of the OpenClaw gateway, ws:// or wss://. On the gateway's host Ladle finds it by itself")
    package static let gatewayTokenFile = ConfigurationKey("gateway.tokenFile", .secretFile, short: "token-file")
        .means("File with the gateway's token")
    package static let gatewayPasswordFile = ConfigurationKey(
        "gateway.passwordFile",
        .secretFile,
        short: "password-file"
    )
    .means("File with the gateway's password")
    package static let gatewayScopes = ConfigurationKey("gateway.scopes", comma)
        .means(
            "Scopes to ask the gateway for. read: history, runs, sessions, identity and profile; write: "
                + "sending and aborting; admin: changing identity, profile and sessions; approvals: answering "
                + "approvals, which the gateway then waits for; questions, with the newest releases: answering those. Default read,write, and on the gateway's own host "
                + "also admin"
        )
    package static let gatewayPin = ConfigurationKey("gateway.pin", .text)
        .means("SHA-256 of the gateway's certificate in hexadecimal; only with wss://")
    package static let gatewayAllowPlaintext = ConfigurationKey("gateway.allowPlaintext", .bool, default: "false")
        .means("Allow ws:// to hosts outside this machine and the tailnet")
    package static let gatewayClientName = ConfigurationKey("gateway.clientName", .text, default: "Ladle")
        .means("Name of this client in the gateway's list")

    package static let approvalsLinks = ConfigurationKey("approvals.links", .bool, default: "false")
        .means(
            "Let a one-tap link of a notification decide an approval. Whoever has such a link can use it, once, until the "
                + "approval ends: with ntfy that is everyone who reads the topic"
        )

    package static let nodesAllow = ConfigurationKey("nodes.allow", comma, default: "")
        .means(
            "Commands of nodes to let through beside the harmless ones: private reads such as location.get, as a family too "
                + "(location.*); what looks, records or writes, such as camera.snap, one by one"
        )

    // MARK: The database

    package static let databaseURL = ConfigurationKey("database.url", .database, short: "database")
        .means(
            "PostgreSQL server that keeps the state in place of a file, postgresql://USER@HOST/NAME: without a password, which "
                + "stands in database.passwordFile or ~/.pgpass"
        )
    package static let databasePasswordFile = ConfigurationKey("database.passwordFile", .secretFile)
        .means("File with the password of database.url")
    package static let databaseInsecure = ConfigurationKey("database.insecure", .bool, default: "false")
        .means("Allow a server on another machine without TLS, or without a check of its certificate")
    package static let databasePatience = ConfigurationKey(
        "database.patience",
        .duration(100...60_000),
        default: "3s"
    )
    .means("Time for which requests wait for a server that is away")

    // MARK: Several hosts

    package static let followURL = ConfigurationKey("follow.url", .text, short: "follow")
        .means(
            "Another Ladle to follow, https://HOST:PORT: this one has no gateway, serves its events under the same ids, and hands all "
                + "other requests to it"
        )
    package static let followTokenFile = ConfigurationKey("follow.tokenFile", .secretFile)
        .means("File with a token of that Ladle, with scope admin")
    package static let followPin = ConfigurationKey("follow.pin", .text)
        .means("SHA-256 of that Ladle's certificate in hexadecimal, in place of the system's authorities")
    package static let clusterName = ConfigurationKey("cluster.name", .text)
        .means("Name of this host in the lists of leaders and followers. Default the host's name")
    package static let clusterKeyFile = ConfigurationKey("cluster.keyFile", .secretFile)
        .means(
            "With database.url, for several hosts: file with the key of ladle cluster key, the same on each. With it the device key and "
                + "Ladle's own certificate are kept in the database, sealed, so that each host is the same device for the gateway"
        )
    package static let clusterTakeover = ConfigurationKey(
        "cluster.takeover",
        .duration(3 * second...60 * second),
        default: "6s"
    )
    .means("With database.url: time after which another host takes over from a leader that is silent")

    // MARK: OpenAI's API

    package static let openAIEnabled = ConfigurationKey("openai.enabled", .bool, default: "false")
        .means("Answer programs that speak OpenAI's or Ollama's API, under /openai/v1 and /ollama")
    package static let openAIActivity = ConfigurationKey(
        "openai.activity",
        .choice(["reasoning", "none"]),
        default: "reasoning"
    )
    .means("Whether such programs are told the agent's steps, as reasoning")
    package static let openAIThinking = ConfigurationKey("openai.thinking", .bool, default: "false")
        .means("Whether they are told the model's own thoughts too")
    package static let openAISessions = ConfigurationKey("openai.sessions", .choice(["chat", "one"]), default: "chat")
        .means(
            "Session of a request that names no conversation. chat: a new one; one: the same for all requests of a token, for "
                + "scripts and voice"
        )
    package static let openAIAnyModel = ConfigurationKey("openai.anyModel", .bool, default: "false")
        .means("Take any name of a model for the default agent, for programs with a fixed list")
    package static let openAIOnDisconnect = ConfigurationKey(
        "openai.onDisconnect",
        .choice(["auto", "stop", "continue"]),
        default: "auto"
    )
    .means(
        "What happens to a run whose client has left. auto: a streamed answer is stopped after three seconds, a whole one goes on"
    )

    // MARK: MQTT

    package static let mqttURL = ConfigurationKey("mqtt.url", .text)
        .means(
            "MQTT broker to publish to: mqtt://HOST[:1883], mqtts://HOST[:8883], or over a WebSocket ws:// or wss://HOST[:443][/mqtt]. "
                + "Without it there is no MQTT"
        )
    package static let mqttUsername = ConfigurationKey("mqtt.username", .text)
        .means("Name under which Ladle signs in at the broker")
    package static let mqttPasswordFile = ConfigurationKey("mqtt.passwordFile", .secretFile)
        .means("File with the password for the broker")
    package static let mqttCA = ConfigurationKey("mqtt.ca", .path)
        .means("Certificate authority of the broker, PEM, in place of the system's")
    package static let mqttCertificate = ConfigurationKey("mqtt.cert", .path)
        .means("Certificate with which Ladle shows the broker who it is, PEM; needs mqtt.key")
    package static let mqttKey = ConfigurationKey("mqtt.key", .secretFile).means("Private key of mqtt.cert, PEM")
    package static let mqttPin = ConfigurationKey("mqtt.pin", .text)
        .means("SHA-256 of the broker's certificate in hexadecimal; only with mqtts:// or wss://")
    package static let mqttClientID = ConfigurationKey("mqtt.clientId", .text)
        .means("Client id at the broker, at most 64 characters. Default ladle and 16 digits of this installation")
    package static let mqttPrefix = ConfigurationKey("mqtt.prefix", .text, default: "ladle")
        .means("First part of all topics")
    package static let mqttName = ConfigurationKey("mqtt.name", .text)
        .means("Second part of all topics. Default the host's name")
    package static let mqttVersion = ConfigurationKey("mqtt.version", .choice(["auto", "5", "3.1.1"]), default: "auto")
        .means("Version of the protocol. auto: 5, and 3.1.1 where the broker knows no 5")
    package static let mqttScopes = ConfigurationKey("mqtt.scopes", comma, default: "read")
        .means(
            "What may be done over MQTT by everybody whom the broker lets publish: read, send, control, approvals. With read "
                + "alone, nothing"
        )
    package static let mqttSessions = ConfigurationKey("mqtt.sessions", comma, default: "*")
        .means("Sessions that are published and may be written to. Each that is named has a topic of its own")
    package static let mqttEvents = ConfigurationKey("mqtt.events", comma)
        .means(
            "Types of events that are published, or none. Default run.started, run.ended, message, outbox, approval, session"
        )
    package static let mqttText = ConfigurationKey("mqtt.text", .choice(["full", "short", "none"]), default: "short")
        .means(
            "How much of an answer the reply topic has. short: 254 characters. The events message and run.ended have it whole, if "
                + "mqtt.events has them"
        )
    package static let mqttRetain = ConfigurationKey("mqtt.retain", .bool, default: "true")
        .means("Let the broker keep the state topics for whoever comes later")
    package static let mqttUsage = ConfigurationKey("mqtt.usage", .bool, default: "false")
        .means(
            "Publish how much of the subscriptions is used, and today's tokens and cost; the gateway is asked every five minutes"
        )
    package static let mqttDiscovery = ConfigurationKey("mqtt.discovery", .bool, default: "false")
        .means("Show a device in Home Assistant by itself")
    package static let mqttDiscoveryPrefix = ConfigurationKey("mqtt.discoveryPrefix", .text, default: "homeassistant")
        .means("Topic under which Home Assistant looks for devices")
    package static let mqttDiscoveryName = ConfigurationKey("mqtt.discoveryName", .text, default: "Ladle")
        .means("Name of the device in Home Assistant")
    package static let mqttKeepAlive = ConfigurationKey(
        "mqtt.keepAlive",
        .duration(15 * second...10 * minute),
        default: "60s"
    )
    .means("Longest silence towards the broker")
    package static let mqttSessionExpiry = ConfigurationKey("mqtt.sessionExpiry", .duration(0...7 * day))
        .means("How long the broker keeps commands for a Ladle that is away. Default 1h, and 30s without commands")
    package static let mqttWindow = ConfigurationKey("mqtt.window", .int(1...1000), default: "64")
        .means("Most messages on their way to the broker")
    package static let mqttResponsePrefix = ConfigurationKey("mqtt.responsePrefix", .text)
        .means(
            "Begin of the topics to which results of commands may go. Default all but the broker's own, Home Assistant's and Ladle's"
        )
    package static let mqttMaxAge = ConfigurationKey("mqtt.maxAge", .duration(second...day), default: "10m")
        .means("Age from which a stop or a decision is refused, by its own `at`")

    // MARK: Notifications

    package static let notificationsSinks = ConfigurationKey("notifications.sinks", .object)
        .means(
            "Sinks by name: {kind, url, topic, tokenFile, secretFile, command, detail, quietHours, perHour, priorityMap}. Only "
                + "here a sink may run a command or lead into the own network without notifications.allowHosts"
        )
    package static let notificationsAllowHosts = ConfigurationKey("notifications.allowHosts", comma, default: "")
        .means("Hosts inside the network that sinks made through the API may lead to: names, addresses, ranges")
    package static let notificationsPublicURL = ConfigurationKey("notifications.publicUrl", .url)
        .means("Address under which your devices reach Ladle, for the links and buttons of notifications")

    // MARK: Listeners and files

    package static let listen = ConfigurationKey("listen", comma, default: "127.0.0.1:18780")
        .means("Listeners: HOST:PORT, unix:PATH, tailnet[:PORT] or fd:")
    package static let insecureLAN = ConfigurationKey("insecureLan", .bool, default: "false")
        .means("Allow listeners without TLS outside loopback and the tailnet")
    package static let advertise = ConfigurationKey("advertise", .bool, default: "false")
        .means("Announce this Ladle on the network as _ladle._tcp, through Avahi or macOS")
    package static let unixMode = ConfigurationKey("unix.mode", .choice(["600", "660", "666"]), default: "600")
        .means("Permissions of unix:PATH listeners. Users other than the owner need a token in any case")
    package static let unixOwner = ConfigurationKey("unix.owner", .text)
        .means("Owner of unix:PATH listeners: USER, USER:GROUP or :GROUP")
    package static let state = ConfigurationKey("state", .path)
        .means("Directory of the database, the keys, the lock and the control socket. Default $XDG_STATE_HOME/ladle")

    // MARK: The demo gateway

    package static let demo = ConfigurationKey("demo.enabled", .bool, default: "false", short: "demo")
        .means("Start a demo gateway inside Ladle and connect to it")
    package static let demoProtocol = ConfigurationKey("demo.protocol", .choice(["3", "4"]), default: "4")
        .means("Protocol version of the demo gateway")
    package static let demoRelease = ConfigurationKey(
        "demo.release",
        .choice(["march", "april", "june", "autumn", "september", "october", "newest"])
    )
    .means("Release that the demo gateway imitates, whatever demo.protocol says")
    package static let demoPort = ConfigurationKey("demo.port", .int(0...65_535), default: "0")
        .means("Port of the demo gateway; 0 picks a free one")
    package static let demoSpeed = ConfigurationKey("demo.speed", .fraction(0...1000), default: "1")
        .means("Speed of scripted runs, as a factor; 0 plays them without pauses")

    // MARK: Access

    package static let accessLoopback = ConfigurationKey(
        "access.loopback",
        .choice(["owner", "token"]),
        default: "owner"
    )
    .means(
        "Whether the user who runs Ladle needs a token on loopback. On the control socket that user never "
            + "needs one"
    )
    package static let accessHosts = ConfigurationKey("access.hosts", comma, default: "")
        .means(
            "More names that a request's Host may have, besides the listeners' addresses. Behind a proxy: the "
                + "name clients use, with the port unless it is the default one"
        )
    package static let accessOrigins = ConfigurationKey("access.origins", comma, default: "")
        .means("Web origins whose pages may call the API, written exactly")
    package static let accessTailnetAllow = ConfigurationKey("access.tailnet.allow", .list(separator: " "), default: "")
        .means("Tailnet identities that need no token: LOGIN=SCOPES, tag:NAME=SCOPES or cap:NAME=SCOPES")
    package static let accessTailnetCapability = ConfigurationKey("access.tailnet.capability", .bool, default: "false")
        .means("Take scopes from the capability that the tailnet's policy grants")
    package static let accessTailnetSocket = ConfigurationKey("access.tailnet.socket", .path)
        .means("Socket of tailscaled. Default: the usual places")
    package static let accessTailnetServe = ConfigurationKey("access.tailnet.serve", .path)
        .means("Unix socket for tailscale serve; only there its identity headers count")

    // MARK: Activity, identity, audit

    package static let activityLabels = ConfigurationKey(
        "activity.labels",
        .choice(["extended", "chowder"]),
        default: "extended"
    )
    .means("Table of labels for steps")
    package static let identityWrite = ConfigurationKey("identity.write", .choice(["rpc", "chat"]), default: "rpc")
        .means(
            "How to write identity and profile if the gateway does not grant operator.admin: rpc refuses, "
                + "chat asks the agent"
        )
    package static let identityRefresh = ConfigurationKey(
        "identity.refresh",
        .duration(10 * second...day),
        default: "10m"
    )
    .means("How often identity and profile are read again")
    package static let audit = ConfigurationKey("audit.enabled", .bool, default: "true")
        .means("Write one audit line for each change of state")
    package static let auditMaxBytes = ConfigurationKey(
        "audit.maxBytes",
        .size(64 * kibibyte...1024 * mebibyte),
        default: "8MiB"
    )
    .means("Size at which a new audit file begins")
    package static let auditKeep = ConfigurationKey("audit.keep", .int(1...100), default: "5")
        .means("Number of older audit files to keep")

    // MARK: The outbox

    package static let outboxMaxEntries = ConfigurationKey("outbox.maxEntries", .int(1...1_000_000), default: "10000")
        .means("Most entries that may wait")
    package static let outboxMaxPerSession = ConfigurationKey(
        "outbox.maxPerSession",
        .int(1...1_000_000),
        default: "1000"
    )
    .means("Most entries that may wait for one session")
    package static let outboxMaxAttachmentBytes = ConfigurationKey(
        "outbox.maxAttachmentBytes",
        .size(0...4096 * mebibyte),
        default: "64MiB"
    )
    .means("Most bytes of attachments that may wait")
    package static let outboxOffline = ConfigurationKey("outbox.offline", .choice(["hold", "count"]), default: "hold")
        .means(
            "While the gateway is away: hold entries until they expire, or count failed attempts (seven, in 36 minutes)"
        )
    package static let outboxAmbiguous = ConfigurationKey(
        "outbox.ambiguous",
        .choice(["reconcile", "hold"]),
        default: "reconcile"
    )
    .means(
        "If an entry may have arrived: ask the gateway and send again only if it has not, or hold the "
            + "entry for a person"
    )
    package static let outboxOrdering = ConfigurationKey(
        "outbox.ordering",
        .choice(["accepted", "strict"]),
        default: "accepted"
    )
    .means("Send a session's next entry when the last one is accepted, or only when it is delivered")
    package static let outboxResume = ConfigurationKey("outbox.resume", .choice(["auto", "hold"]), default: "auto")
        .means("After a restart: send waiting entries, or hold them for a person")
    package static let outboxJitter = ConfigurationKey("outbox.jitter", .fraction(0...0.1), default: "0")
        .means("Random share by which the waits between attempts vary")
    package static let outboxTTL = ConfigurationKey("outbox.ttl", .duration(second...30 * day), default: "48h")
        .means("How long an entry may wait before it expires")

    // MARK: The event stream

    package static let eventsKeep = ConfigurationKey("events.keep", .int(100...10_000_000), default: "100000")
        .means("Most events to keep for clients that resume")
    package static let eventsKeepFor = ConfigurationKey("events.keepFor", .duration(minute...365 * day), default: "7d")
        .means("How long to keep events, runs and steps")
    package static let eventsHeartbeat = ConfigurationKey(
        "events.heartbeat",
        .duration(5 * second...60 * second),
        default: "15s"
    )
    .means("Interval of keep-alives on streams that do not ask for another one, in whole seconds")
    package static let eventsBufferBytes = ConfigurationKey(
        "events.bufferBytes",
        .size(16 * kibibyte...64 * mebibyte),
        default: "1MiB"
    )
    .means("Unsent bytes at which a slow stream is closed")
    package static let eventsStreamsPerCaller = ConfigurationKey(
        "events.streamsPerCaller",
        .int(1...100_000),
        default: "20"
    )
    .means("Most streams of one token or tailnet identity")
    package static let eventsStreamsPerConnection = ConfigurationKey(
        "events.streamsPerConnection",
        .int(1...10_000),
        default: "50"
    )
    .means(
        "Most streams on one HTTP/2 connection; the rest of limits.requestsPerConnection is left for "
            + "other requests"
    )
    package static let eventsStreams = ConfigurationKey("events.streams", .int(1...1_000_000), default: "20000")
        .means("Most streams in all; a sixteenth is kept for the owner")

    // MARK: Limits of the listeners

    package static let limitsHeaderTimeout = ConfigurationKey(
        "limits.headerTimeout",
        .duration(100...10 * minute),
        default: "10s"
    )
    .means("Longest time for the head of a request")
    package static let limitsIdle = ConfigurationKey("limits.idle", .duration(second...hour), default: "75s")
        .means("Longest time that a connection may stay open without a request")
    package static let limitsBodyRate = ConfigurationKey("limits.bodyRate", .size(0...mebibyte), default: "512")
        .means("Slowest rate of a request body in bytes a second, after limits.bodyGrace; 0 for no limit")
    package static let limitsBodyGrace = ConfigurationKey(
        "limits.bodyGrace",
        .duration(100...10 * minute),
        default: "10s"
    )
    .means("Time before limits.bodyRate applies to a request body")
    package static let limitsHandshake = ConfigurationKey(
        "limits.handshake",
        .duration(100...10 * minute),
        default: "10s"
    )
    .means("Longest time for a TLS handshake")
    package static let limitsLinger = ConfigurationKey("limits.linger", .duration(0...minute), default: "2s")
        .means("Time for a client to read the last answer before its connection is cut")
    package static let limitsAnswerBytes = ConfigurationKey(
        "limits.answerBytes",
        .size(64 * kibibyte...1024 * mebibyte),
        default: "4MiB"
    )
    .means(
        "Most bytes of unread answers on a connection. Beyond it the connection is cut; over HTTP/2 "
            + "further answers wait"
    )
    package static let limitsUnreadAnswers = ConfigurationKey(
        "limits.unreadAnswers",
        .size(mebibyte...64 * 1024 * mebibyte),
        default: "128MiB"
    )
    .means(
        "Most bytes of unread answers over 4 KiB on all connections. One caller gets a quarter, and a quarter is kept "
            + "for the owner"
    )
    package static let limitsUnfinishedBodies = ConfigurationKey(
        "limits.unfinishedBodies",
        .size(mebibyte...64 * 1024 * mebibyte),
        default: "128MiB"
    )
    .means(
        "Most bytes of request bodies over 64 KiB on all connections, until the requests are answered. One caller gets a "
            + "quarter, and a quarter is kept for the owner"
    )
    package static let limitsRequestLine = ConfigurationKey(
        "limits.requestLine",
        .size(256...60 * kibibyte),
        default: "8KiB"
    )
    .means("Largest request line")
    package static let limitsHeaderBytes = ConfigurationKey(
        "limits.headerBytes",
        .size(kibibyte...60 * kibibyte),
        default: "16KiB"
    )
    .means("Largest size of a request's header fields")
    package static let limitsHeaderFields = ConfigurationKey("limits.headerFields", .int(8...1000), default: "64")
        .means("Most header fields in a request")
    package static let limitsRequestsPerConnection = ConfigurationKey(
        "limits.requestsPerConnection",
        .int(1...10_000),
        default: "100"
    )
    .means("Most requests at once on one HTTP/2 connection")
    package static let limitsWriteStall = ConfigurationKey(
        "limits.writeStall",
        .duration(second...hour),
        default: "10s"
    )
    .means("Longest time that a client may leave an answer unread")
    package static let limitsConnections = ConfigurationKey("limits.connections", .int(1...1_000_000), default: "20000")
        .means("Most connections; fewer if the system lets the process open fewer files")
    package static let limitsConnectionsPerPeer = ConfigurationKey(
        "limits.connectionsPerPeer",
        .int(1...1_000_000),
        default: "256"
    )
    .means("Most connections of one address, or of one other user of this host")
    package static let limitsBodyBytes = ConfigurationKey(
        "limits.bodyBytes",
        .size(kibibyte...64 * mebibyte),
        default: "1MiB"
    )
    .means("Largest request body. Messages, documents and pictures have limits of their own")
    package static let limitsDrain = ConfigurationKey("limits.drain", .duration(0...minute), default: "5s")
        .means("Time for open requests to finish when Ladle stops")
    package static let limitsSendsBurst = ConfigurationKey("limits.sendsBurst", .int(1...1_000_000), default: "5")
        .means("Messages that one caller may send to a session at once")
    package static let limitsSendsInterval = ConfigurationKey("limits.sendsInterval", .duration(1...day), default: "1s")
        .means("Time after which a caller may send one more message to a session")
    package static let limitsAllSendsBurst = ConfigurationKey(
        "limits.allSendsBurst",
        .int(1...1_000_000),
        default: "60"
    )
    .means("Messages that one caller may send at once, to all sessions together")
    package static let limitsAllSendsInterval = ConfigurationKey(
        "limits.allSendsInterval",
        .duration(1...day),
        default: "1s"
    )
    .means("Time after which a caller may send one more message, to whatever session")
    package static let limitsNodeCalls = ConfigurationKey("limits.nodeCalls", .int(1...1_000_000), default: "6")
        .means("Commands of nodes a minute for one caller")
    package static let limitsNodeCaptures = ConfigurationKey("limits.nodeCaptures", .int(1...1_000_000), default: "1")
        .means("Of these, how many that look, record or write")
    package static let limitsSpeech = ConfigurationKey("limits.speech", .int(1...1_000_000), default: "10")
        .means("Messages a minute that are read aloud for one caller; one that was read before does not count")
    package static let limitsAuthPerMinute = ConfigurationKey(
        "limits.authPerMinute",
        .int(1...1_000_000),
        default: "10"
    )
    .means("Wrong tokens a minute from one address")
    package static let limitsPairingPerMinute = ConfigurationKey(
        "limits.pairingPerMinute",
        .int(1...1_000_000),
        default: "5"
    )
    .means("Pairing requests a minute from one address")

    // MARK: TLS of the listeners

    package static let tlsCert = ConfigurationKey("tls.cert", comma, default: "")
        .means(
            "Certificate chains in PEM. Together with tls.key they switch TLS on. Clients get the certificate "
                + "for the host name they ask for, otherwise the first one"
        )
    package static let tlsKey = ConfigurationKey("tls.key", comma, default: "")
        .means("Private keys in PEM, in the order of tls.cert")
    package static let tlsClientCA = ConfigurationKey("tls.clientCa", .path)
        .means(
            "CA certificates in PEM; clients must then show a certificate from one of them. It only lets them "
                + "connect: scopes still come from their token"
        )
    package static let tlsClientAllow = ConfigurationKey("tls.clientAllow", comma, default: "")
        .means("SHA-256 of the client certificates that may connect. With tls.clientCa both must hold")
    package static let tlsTailnet = ConfigurationKey("tls.tailnet", .bool, default: "false")
        .means(
            "Switch TLS on with a certificate that tailscaled has issued and renews for this host's name in the tailnet. "
                + "Clients that ask by address get that of tls.cert, or one that Ladle makes itself and they pin"
        )

    // MARK: Logs

    package static let logFormat = ConfigurationKey(
        "log.format",
        .choice(["auto", "text", "json", "journal"]),
        default: "auto"
    )
    .means("Form of log lines. auto is journal under systemd and text elsewhere")
    package static let logLevel = ConfigurationKey(
        "log.level",
        .choice(["error", "warning", "notice", "info", "debug"]),
        default: "info"
    )
    .means("Least severe lines to log")
    package static let debugFrames = ConfigurationKey("debug.frames", .bool, default: "false")
        .means("Keep the latest gateway frames, without secrets, for GET /v1/debug/frames")

    /// `ConfigurationTableTests` compares this list with the declarations above.
    static let all: [ConfigurationKey] = [
        gatewayURL, gatewayTokenFile, gatewayPasswordFile, gatewayScopes, gatewayPin, gatewayAllowPlaintext,
        gatewayClientName, databaseURL, databasePasswordFile, databaseInsecure, databasePatience, followURL,
        followTokenFile, followPin, clusterName, clusterKeyFile, clusterTakeover, approvalsLinks, nodesAllow,
        openAIEnabled, openAIActivity, openAIThinking, openAISessions,
        openAIAnyModel, openAIOnDisconnect,
        mqttURL, mqttUsername, mqttPasswordFile, mqttCA, mqttCertificate, mqttKey, mqttPin, mqttClientID, mqttPrefix,
        mqttName, mqttVersion, mqttScopes, mqttSessions, mqttEvents, mqttText, mqttRetain, mqttUsage, mqttDiscovery,
        mqttDiscoveryPrefix, mqttDiscoveryName, mqttKeepAlive, mqttSessionExpiry, mqttWindow, mqttResponsePrefix,
        mqttMaxAge,
        notificationsSinks, notificationsAllowHosts, notificationsPublicURL, listen,
        insecureLAN, advertise, unixMode, unixOwner, state, demo, demoProtocol, demoRelease,
        demoPort, demoSpeed,
        accessLoopback, accessHosts, accessOrigins, accessTailnetAllow, accessTailnetCapability, accessTailnetSocket,
        accessTailnetServe, activityLabels, identityWrite, identityRefresh, audit, auditMaxBytes, auditKeep,
        outboxMaxEntries, outboxMaxPerSession, outboxMaxAttachmentBytes, outboxOffline, outboxAmbiguous,
        outboxOrdering, outboxResume, outboxJitter, outboxTTL, eventsKeep, eventsKeepFor, eventsHeartbeat,
        eventsBufferBytes, eventsStreamsPerCaller, eventsStreamsPerConnection, eventsStreams, limitsHeaderTimeout,
        limitsIdle, limitsBodyRate, limitsBodyGrace, limitsHandshake, limitsLinger, limitsAnswerBytes,
        limitsUnreadAnswers, limitsUnfinishedBodies, limitsRequestLine, limitsHeaderBytes, limitsHeaderFields,
        limitsRequestsPerConnection,
        limitsWriteStall,
        limitsConnections, limitsConnectionsPerPeer, limitsBodyBytes, limitsDrain, limitsSendsBurst,
        limitsSendsInterval, limitsAllSendsBurst, limitsAllSendsInterval, limitsNodeCalls, limitsNodeCaptures,
        limitsSpeech, limitsAuthPerMinute, limitsPairingPerMinute, tlsCert,
        tlsKey, tlsClientCA,
        tlsClientAllow, tlsTailnet, logFormat, logLevel, debugFrames,
    ]
}
