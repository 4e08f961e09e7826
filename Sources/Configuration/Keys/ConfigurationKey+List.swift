/// Every key there is. A name says its group first; groups and keys are in the order of the alphabet in
/// `ConfigurationTable`.
extension ConfigurationKey {
    private static let second: Int64 = 1000
    private static let minute: Int64 = 60_000
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 86_400_000
    private static let kibibyte: Int64 = 1 << 10
    private static let mebibyte: Int64 = 1 << 20
    private static let comma = ConfigurationKind.list(separator: ",")

    // The gateway and the link to it.
    package static let gatewayURL = ConfigurationKey(
        "gateway.url",
        .url,
        nil,
        "Address of the OpenClaw gateway, ws:// or wss://; found by itself on the gateway's host",
        short: "gateway"
    )
    package static let gatewayTokenFile = ConfigurationKey(
        "gateway.tokenFile",
        .secretFile,
        nil,
        "File with the gateway's token",
        short: "token-file"
    )
    package static let gatewayPasswordFile = ConfigurationKey(
        "gateway.passwordFile",
        .secretFile,
        nil,
        "File with the gateway's password",
        short: "password-file"
    )
    package static let gatewayScopes = ConfigurationKey(
        "gateway.scopes",
        comma,
        nil,
        "Gateway scopes to ask for. read: history, runs, sessions, reading identity and profile; write: messages and aborts; "
            + "admin: writing identity and profile, changing sessions; approvals: answering approvals, which the gateway then "
            + "waits for. Default read,write, and admin on the gateway's own host"
    )
    package static let gatewayPin = ConfigurationKey(
        "gateway.pin",
        .text,
        nil,
        "SHA-256 of the gateway's certificate, hexadecimal; only with wss://"
    )
    package static let gatewayAllowPlaintext = ConfigurationKey(
        "gateway.allowPlaintext",
        .bool,
        "false",
        "Allow ws:// to hosts that are neither local nor in the tailnet"
    )
    package static let gatewayClientName = ConfigurationKey(
        "gateway.clientName",
        .text,
        "Ladle",
        "Name under which the gateway lists this client"
    )

    // Where Ladle listens and keeps its files.
    package static let listen = ConfigurationKey(
        "listen",
        comma,
        "127.0.0.1:18780",
        "Listeners: HOST:PORT, unix:PATH, tailnet[:PORT] or fd:"
    )
    package static let insecureLAN = ConfigurationKey(
        "insecureLan",
        .bool,
        "false",
        "Allow listeners without TLS on addresses that are neither loopback nor tailnet"
    )
    package static let unixMode = ConfigurationKey(
        "unix.mode",
        .choice(["600", "660", "666"]),
        "600",
        "Permissions of unix:PATH listeners; whoever is not the owner needs a token all the same"
    )
    package static let unixOwner = ConfigurationKey(
        "unix.owner",
        .text,
        nil,
        "Owner of unix:PATH listeners: USER, USER:GROUP or :GROUP"
    )
    package static let state = ConfigurationKey(
        "state",
        .path,
        nil,
        "Directory of database, keys, lock and control socket; default $XDG_STATE_HOME/ladle"
    )

    // The demo gateway.
    package static let demo = ConfigurationKey(
        "demo.enabled",
        .bool,
        "false",
        "Start an embedded demo gateway and link to it",
        short: "demo"
    )
    package static let demoProtocol = ConfigurationKey(
        "demo.protocol",
        .choice(["3", "4"]),
        "4",
        "Protocol version the demo gateway speaks"
    )
    package static let demoPort = ConfigurationKey(
        "demo.port",
        .int(0...65_535),
        "0",
        "Port of the demo gateway; 0 takes a free one"
    )
    package static let demoSpeed = ConfigurationKey(
        "demo.speed",
        .fraction(0...1000),
        "1",
        "Factor on the pace of scripted runs; 0 plays them at once"
    )

    // Who gets in.
    package static let accessLoopback = ConfigurationKey(
        "access.loopback",
        .choice(["owner", "token"]),
        "owner",
        "Whether the owner's uid needs a token on loopback; on the control socket it never does"
    )
    package static let accessHosts = ConfigurationKey(
        "access.hosts",
        comma,
        "",
        "Further Host names that are accepted, beside the addresses listened on; behind a proxy the name it is called by, with the "
            + "port where that is not the default one"
    )
    package static let accessOrigins = ConfigurationKey(
        "access.origins",
        comma,
        "",
        "Web origins whose pages may call the API, exact"
    )
    package static let accessTailnetAllow = ConfigurationKey(
        "access.tailnet.allow",
        .list(separator: " "),
        "",
        "Tailnet identities that get in: LOGIN=SCOPES, tag:NAME=SCOPES or cap:NAME=SCOPES"
    )
    package static let accessTailnetCapability = ConfigurationKey(
        "access.tailnet.capability",
        .bool,
        "false",
        "Take scopes from the capability the tailnet's policy grants"
    )
    package static let accessTailnetSocket = ConfigurationKey(
        "access.tailnet.socket",
        .path,
        nil,
        "Socket of tailscaled; default the system's own"
    )
    package static let accessTailnetServe = ConfigurationKey(
        "access.tailnet.serve",
        .path,
        nil,
        "Unix socket on which the identity headers of tailscale serve are taken"
    )

    // Activity, identity, audit.
    package static let activityLabels = ConfigurationKey(
        "activity.labels",
        .choice(["extended", "chowder"]),
        "extended",
        "Table from which the labels of steps are made"
    )
    package static let identityWrite = ConfigurationKey(
        "identity.write",
        .choice(["rpc", "chat"]),
        "rpc",
        "How identity and profile are written where the link lacks operator.admin: not at all, or by asking the agent"
    )
    package static let identityRefresh = ConfigurationKey(
        "identity.refresh",
        .duration(10 * second...day),
        "10m",
        "How often identity and profile are read again"
    )
    package static let audit = ConfigurationKey(
        "audit.enabled",
        .bool,
        "true",
        "Keep an audit line for each change of state"
    )
    package static let auditMaxBytes = ConfigurationKey(
        "audit.maxBytes",
        .size(64 * kibibyte...1024 * mebibyte),
        "8MiB",
        "Size at which the audit file is rotated"
    )
    package static let auditKeep = ConfigurationKey(
        "audit.keep",
        .int(1...100),
        "5",
        "Rotated audit files that are kept"
    )

    // The outbox.
    package static let outboxMaxEntries = ConfigurationKey(
        "outbox.maxEntries",
        .int(1...1_000_000),
        "10000",
        "Most entries that wait"
    )
    package static let outboxMaxPerSession = ConfigurationKey(
        "outbox.maxPerSession",
        .int(1...1_000_000),
        "1000",
        "Most entries that wait for one session"
    )
    package static let outboxMaxAttachmentBytes = ConfigurationKey(
        "outbox.maxAttachmentBytes",
        .size(0...4096 * mebibyte),
        "64MiB",
        "Most bytes of attachments that wait"
    )
    package static let outboxOffline = ConfigurationKey(
        "outbox.offline",
        .choice(["count", "hold"]),
        "count",
        "While the gateway is away: count failed attempts, or hold entries up to their expiry"
    )
    package static let outboxAmbiguous = ConfigurationKey(
        "outbox.ambiguous",
        .choice(["reconcile", "hold"]),
        "reconcile",
        "An entry that may have been delivered: send again once proven absent, or hold it for a person"
    )
    package static let outboxOrdering = ConfigurationKey(
        "outbox.ordering",
        .choice(["accepted", "strict"]),
        "accepted",
        "The next entry of a session goes when the one before is accepted, or only when it is delivered"
    )
    package static let outboxResume = ConfigurationKey(
        "outbox.resume",
        .choice(["auto", "hold"]),
        "auto",
        "After a restart waiting messages go on by themselves, or are held for a person"
    )
    package static let outboxJitter = ConfigurationKey(
        "outbox.jitter",
        .fraction(0...0.1),
        "0",
        "Share by which waits between attempts vary"
    )
    package static let outboxTTL = ConfigurationKey(
        "outbox.ttl",
        .duration(second...30 * day),
        "48h",
        "How long an entry may wait before it expires"
    )

    // The event stream.
    package static let eventsKeep = ConfigurationKey(
        "events.keep",
        .int(100...10_000_000),
        "100000",
        "Most events kept for resuming clients"
    )
    package static let eventsKeepFor = ConfigurationKey(
        "events.keepFor",
        .duration(minute...365 * day),
        "7d",
        "How long events, runs and steps are kept"
    )
    package static let eventsHeartbeat = ConfigurationKey(
        "events.heartbeat",
        .duration(5 * second...60 * second),
        "15s",
        "Keep-alive interval of streams that ask for none"
    )
    package static let eventsBufferBytes = ConfigurationKey(
        "events.bufferBytes",
        .size(16 * kibibyte...64 * mebibyte),
        "1MiB",
        "Unsent bytes at which a slow stream is closed"
    )
    package static let eventsStreamsPerCaller = ConfigurationKey(
        "events.streamsPerCaller",
        .int(1...100_000),
        "20",
        "Streams one token or tailnet identity may hold"
    )
    package static let eventsStreamsPerConnection = ConfigurationKey(
        "events.streamsPerConnection",
        .int(1...10_000),
        "50",
        "Streams on one HTTP/2 connection, which leaves room for requests beside them"
    )
    package static let eventsStreams = ConfigurationKey(
        "events.streams",
        .int(1...1_000_000),
        "20000",
        "Streams in all"
    )

    // Limits of the listeners.
    package static let limitsHeaderTimeout = ConfigurationKey(
        "limits.headerTimeout",
        .duration(100...10 * minute),
        "10s",
        "Time a request's head may take"
    )
    package static let limitsIdle = ConfigurationKey(
        "limits.idle",
        .duration(second...hour),
        "75s",
        "Time a connection may stay without a request"
    )
    package static let limitsBodyRate = ConfigurationKey(
        "limits.bodyRate",
        .size(0...mebibyte),
        "512",
        "Least bytes a second of a request body, after the grace; 0 for none"
    )
    package static let limitsBodyGrace = ConfigurationKey(
        "limits.bodyGrace",
        .duration(100...10 * minute),
        "10s",
        "Time before a request body has to keep its rate"
    )
    package static let limitsHandshake = ConfigurationKey(
        "limits.handshake",
        .duration(100...10 * minute),
        "10s",
        "Time a TLS handshake may take"
    )
    package static let limitsLinger = ConfigurationKey(
        "limits.linger",
        .duration(0...minute),
        "2s",
        "Time a peer gets to read the last answer before its connection is cut"
    )
    package static let limitsAnswerBytes = ConfigurationKey(
        "limits.answerBytes",
        .size(64 * kibibyte...1024 * mebibyte),
        "4MiB",
        "Unsent bytes of answers at which a connection is cut, or over HTTP/2 gets no further ones"
    )
    package static let limitsRequestLine = ConfigurationKey(
        "limits.requestLine",
        .size(256...60 * kibibyte),
        "8KiB",
        "Size of a request line"
    )
    package static let limitsHeaderBytes = ConfigurationKey(
        "limits.headerBytes",
        .size(kibibyte...60 * kibibyte),
        "16KiB",
        "Size of a request's header fields"
    )
    package static let limitsHeaderFields = ConfigurationKey(
        "limits.headerFields",
        .int(8...1000),
        "64",
        "Number of a request's header fields"
    )
    package static let limitsRequestsPerConnection = ConfigurationKey(
        "limits.requestsPerConnection",
        .int(1...10_000),
        "100",
        "Requests at once on one HTTP/2 connection"
    )
    package static let limitsWriteStall = ConfigurationKey(
        "limits.writeStall",
        .duration(second...hour),
        "10s",
        "Time a peer may leave an answer unread"
    )
    package static let limitsConnections = ConfigurationKey(
        "limits.connections",
        .int(1...1_000_000),
        "20000",
        "Connections in all; fewer where the system lets the process open fewer descriptors"
    )
    package static let limitsConnectionsPerPeer = ConfigurationKey(
        "limits.connectionsPerPeer",
        .int(1...1_000_000),
        "256",
        "Connections of one address, or of one other user of this host"
    )
    package static let limitsBodyBytes = ConfigurationKey(
        "limits.bodyBytes",
        .size(kibibyte...64 * mebibyte),
        "1MiB",
        "Size of a request body; messages, documents and pictures have their own limits"
    )
    package static let limitsDrain = ConfigurationKey(
        "limits.drain",
        .duration(0...minute),
        "5s",
        "Time that short requests get to end when the daemon stops"
    )
    package static let limitsSendsBurst = ConfigurationKey(
        "limits.sendsBurst",
        .int(1...1_000_000),
        "5",
        "Messages one caller may send to a session at once"
    )
    package static let limitsSendsInterval = ConfigurationKey(
        "limits.sendsInterval",
        .duration(1...day),
        "1s",
        "Time after which a caller may send one more to a session"
    )
    package static let limitsAuthPerMinute = ConfigurationKey(
        "limits.authPerMinute",
        .int(1...1_000_000),
        "10",
        "Wrong credentials a minute and address"
    )
    package static let limitsPairingPerMinute = ConfigurationKey(
        "limits.pairingPerMinute",
        .int(1...1_000_000),
        "5",
        "Pairing requests a minute and address"
    )
    package static let limitsNodesPerMinute = ConfigurationKey(
        "limits.nodesPerMinute",
        .int(1...1_000_000),
        "30",
        "Node calls a minute and caller"
    )

    // TLS of the listeners.
    package static let tlsCert = ConfigurationKey(
        "tls.cert",
        comma,
        "",
        "Certificate chains in PEM; with tls.key they switch TLS on. Of several the one for the host asked for is shown, the "
            + "first where there is none"
    )
    package static let tlsKey = ConfigurationKey("tls.key", comma, "", "Private keys in PEM, in the order of tls.cert")
    package static let tlsClientCA = ConfigurationKey(
        "tls.clientCa",
        .path,
        nil,
        "CA certificates in PEM; clients must show a certificate from one of them. It lets them connect; what they may do, "
            + "their token says"
    )
    package static let tlsClientAllow = ConfigurationKey(
        "tls.clientAllow",
        comma,
        "",
        "SHA-256 of the client certificates that may connect; with tls.clientCa both must hold"
    )

    // Logs.
    package static let logFormat = ConfigurationKey(
        "log.format",
        .choice(["auto", "text", "json", "journal"]),
        "auto",
        "Form of log lines; auto is journal under systemd and text elsewhere"
    )
    package static let logLevel = ConfigurationKey(
        "log.level",
        .choice(["error", "warning", "info", "debug"]),
        "info",
        "Least severe level that is logged"
    )
    package static let debugFrames = ConfigurationKey(
        "debug.frames",
        .bool,
        "false",
        "Keep redacted gateway frames for GET /v1/debug/frames"
    )

    static let all: [ConfigurationKey] = [
        gatewayURL, gatewayTokenFile, gatewayPasswordFile, gatewayScopes, gatewayPin, gatewayAllowPlaintext,
        gatewayClientName, listen, insecureLAN, unixMode, unixOwner, state, demo, demoProtocol, demoPort, demoSpeed,
        accessLoopback,
        accessHosts,
        accessOrigins, accessTailnetAllow, accessTailnetCapability, accessTailnetSocket, accessTailnetServe,
        activityLabels, identityWrite, identityRefresh, audit, auditMaxBytes, auditKeep, outboxMaxEntries,
        outboxMaxPerSession, outboxMaxAttachmentBytes, outboxOffline, outboxAmbiguous, outboxOrdering, outboxResume,
        outboxJitter, outboxTTL, eventsKeep, eventsKeepFor, eventsHeartbeat, eventsBufferBytes, eventsStreamsPerCaller,
        eventsStreamsPerConnection, eventsStreams, limitsHeaderTimeout, limitsHeaderBytes, limitsHeaderFields,
        limitsRequestLine, limitsHandshake, limitsLinger, limitsAnswerBytes, limitsRequestsPerConnection, limitsIdle,
        limitsBodyRate, limitsBodyGrace, limitsWriteStall, limitsConnections,
        limitsConnectionsPerPeer, limitsBodyBytes, limitsDrain, limitsSendsBurst, limitsSendsInterval,
        limitsAuthPerMinute, limitsPairingPerMinute, limitsNodesPerMinute, tlsCert, tlsKey, tlsClientCA, tlsClientAllow,
        logFormat, logLevel, debugFrames,
    ]
}
