package import HTTPModel

/// Every code a problem document can have, with its status, title, retry and hint. `openapi/openapi.yaml` and
/// `docs/troubleshooting.md` list the same codes.
package enum ProblemCode: String, CaseIterable, Sendable {
    // Errors before the operation is known: HTTP syntax, limits and version.
    case badByte = "BAD_BYTE"
    case badRequestLine = "BAD_REQUEST_LINE"
    case badField = "BAD_FIELD"
    case badHost = "BAD_HOST"
    case hostRequired = "HOST_REQUIRED"
    case badContentLength = "BAD_CONTENT_LENGTH"
    case badTransferEncoding = "BAD_TRANSFER_ENCODING"
    case badChunk = "BAD_CHUNK"
    case badTrailer = "BAD_TRAILER"
    case endedEarly = "ENDED_EARLY"
    case badTarget = "BAD_TARGET"
    case requestTimeout = "REQUEST_TIMEOUT"
    case bodyTooLarge = "BODY_TOO_LARGE"
    case requestLineTooLong = "REQUEST_LINE_TOO_LONG"
    case unmetExpectation = "UNMET_EXPECTATION"
    case wrongHost = "WRONG_HOST"
    case headTooLarge = "HEAD_TOO_LARGE"
    case unknownMethod = "UNKNOWN_METHOD"
    case unknownTransferCoding = "UNKNOWN_TRANSFER_CODING"
    case unsupportedVersion = "UNSUPPORTED_VERSION"
    case tooManyConnections = "TOO_MANY_CONNECTIONS"
    case unreadAnswers = "UNREAD_ANSWERS"
    case unfinishedBodies = "UNFINISHED_BODIES"

    // Access.
    case notPaired = "NOT_PAIRED"
    case missingScope = "MISSING_SCOPE"
    case sessionNotAllowed = "SESSION_NOT_ALLOWED"
    case pathNotAllowed = "PATH_NOT_ALLOWED"
    case crossOrigin = "CROSS_ORIGIN"
    case funnelRefused = "FUNNEL_REFUSED"
    case rateLimited = "RATE_LIMITED"
    case tooManyTickets = "TOO_MANY_TICKETS"
    case tooManyApplications = "TOO_MANY_APPLICATIONS"
    case unknownPairing = "UNKNOWN_PAIRING"
    case pairingOver = "PAIRING_OVER"
    case unknownCode = "UNKNOWN_CODE"
    case alreadyDecided = "ALREADY_DECIDED"
    case unknownToken = "UNKNOWN_TOKEN"

    // The form of a request.
    case badParameter = "BAD_PARAMETER"
    case badHeader = "BAD_HEADER"
    case malformedJSON = "MALFORMED_JSON"
    case malformedText = "MALFORMED_TEXT"
    case invalidField = "INVALID_FIELD"
    case notFound = "NOT_FOUND"
    case methodNotAllowed = "METHOD_NOT_ALLOWED"
    case notAcceptable = "NOT_ACCEPTABLE"
    case unsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE"
    case unsupportedEncoding = "UNSUPPORTED_ENCODING"
    case preconditionRequired = "PRECONDITION_REQUIRED"
    case preconditionFailed = "PRECONDITION_FAILED"
    case placeNotFound = "PLACE_NOT_FOUND"
    case frameLogOff = "FRAME_LOG_OFF"
    case tooManyStreams = "TOO_MANY_STREAMS"

    // Messages, runs and the outbox.
    case stopWord = "STOP_WORD"
    case idempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED"
    case idempotencyInFlight = "IDEMPOTENCY_IN_FLIGHT"
    case attachmentTooLarge = "ATTACHMENT_TOO_LARGE"
    case messageTooLarge = "MESSAGE_TOO_LARGE"
    case outboxFull = "OUTBOX_FULL"
    case storageFull = "STORAGE_FULL"
    case storeUnavailable = "STORE_UNAVAILABLE"
    case shuttingDown = "SHUTTING_DOWN"
    case noLeader = "NO_LEADER"
    case leaderLost = "LEADER_LOST"
    case sendRejected = "SEND_REJECTED"
    case runFailed = "RUN_FAILED"
    case runInterrupted = "RUN_INTERRUPTED"
    case runAborted = "RUN_ABORTED"
    case runNotFound = "RUN_NOT_FOUND"
    case runNotStarted = "RUN_NOT_STARTED"
    case entryNotFound = "ENTRY_NOT_FOUND"
    case entryCancelled = "ENTRY_CANCELLED"
    case entryExpired = "ENTRY_EXPIRED"
    case entryChanged = "ENTRY_CHANGED"
    case entryUnconfirmed = "ENTRY_UNCONFIRMED"
    case alreadyDispatched = "ALREADY_DISPATCHED"
    case notRetryable = "NOT_RETRYABLE"
    case messageNotFound = "MESSAGE_NOT_FOUND"
    case speechBusy = "SPEECH_BUSY"

    // Approvals.
    case approvalNotFound = "APPROVAL_NOT_FOUND"
    case approvalResolved = "APPROVAL_RESOLVED"
    case approvalChanged = "APPROVAL_CHANGED"
    case approvalExpired = "APPROVAL_EXPIRED"
    case decisionNotAllowed = "DECISION_NOT_ALLOWED"
    case grantNotFound = "GRANT_NOT_FOUND"

    // Sessions.
    case sessionNotFound = "SESSION_NOT_FOUND"
    case sessionMoved = "SESSION_MOVED"
    case sessionBusy = "SESSION_BUSY"
    case mainSession = "MAIN_SESSION"
    case labelTaken = "LABEL_TAKEN"
    case outboxNotEmpty = "OUTBOX_NOT_EMPTY"
    case unknownModel = "UNKNOWN_MODEL"
    case artifactNotFound = "ARTIFACT_NOT_FOUND"
    case artifactElsewhere = "ARTIFACT_ELSEWHERE"

    // Questions.
    case questionNotFound = "QUESTION_NOT_FOUND"
    case questionResolved = "QUESTION_RESOLVED"
    case questionExpired = "QUESTION_EXPIRED"
    case answerNotAllowed = "ANSWER_NOT_ALLOWED"

    // Notifications.
    case notificationNotFound = "NOTIFICATION_NOT_FOUND"
    case notificationLoop = "NOTIFICATION_LOOP"
    case notificationsFull = "NOTIFICATIONS_FULL"
    case ruleNotFound = "RULE_NOT_FOUND"
    case sinkNotFound = "SINK_NOT_FOUND"
    case sinkInConfig = "SINK_IN_CONFIG"
    case commandSinkInConfigOnly = "COMMAND_SINK_IN_CONFIG_ONLY"
    case urlNotAllowed = "URL_NOT_ALLOWED"

    // Automations.
    case automationNotFound = "AUTOMATION_NOT_FOUND"
    case alreadyRunning = "ALREADY_RUNNING"
    case idempotencyKeyRequired = "IDEMPOTENCY_KEY_REQUIRED"

    // Nodes.
    case nodeNotFound = "NODE_NOT_FOUND"
    case commandNotAllowed = "COMMAND_NOT_ALLOWED"
    case nodeOffline = "NODE_OFFLINE"
    case nodeInBackground = "NODE_IN_BACKGROUND"
    case nodePermission = "NODE_PERMISSION"
    case nodeTimeout = "NODE_TIMEOUT"
    case nodeFailed = "NODE_FAILED"
    case nodeBusy = "NODE_BUSY"
    case resultNotKept = "RESULT_NOT_KEPT"

    // The gateway and its agents.
    case gatewayUnavailable = "GATEWAY_UNAVAILABLE"
    case gatewayTimeout = "GATEWAY_TIMEOUT"
    case gatewayUnsupported = "GATEWAY_UNSUPPORTED"
    case gatewayScopeMissing = "GATEWAY_SCOPE_MISSING"
    case gatewayError = "GATEWAY_ERROR"
    case gatewayRefused = "GATEWAY_REFUSED"
    case gatewayAnswerUnreadable = "GATEWAY_ANSWER_UNREADABLE"
    case gatewayAnswerTooLarge = "GATEWAY_ANSWER_TOO_LARGE"
    case unknownAgent = "UNKNOWN_AGENT"
    case avatarIsRemote = "AVATAR_IS_REMOTE"
    case agentDidNotAnswer = "AGENT_DID_NOT_ANSWER"
    case writeNotSeen = "WRITE_NOT_SEEN"
    case documentConflict = "DOCUMENT_CONFLICT"
    case tooManyWriters = "TOO_MANY_WRITERS"

    package struct Kind: Sendable {
        /// The default; a problem may set its own.
        package let status: HTTPStatus
        package let title: String
        /// Whether the same request may succeed later.
        package let retryable: Bool
        package let retryAfterMs: Int64?
        /// The command or setting that fixes the problem, if it is always the same.
        package let hint: String?

        fileprivate init(
            _ status: HTTPStatus,
            _ title: String,
            retryable: Bool = false,
            retryAfterMs: Int64? = nil,
            hint: String? = nil
        ) {
            self.status = status
            self.title = title
            self.retryable = retryable || retryAfterMs != nil
            self.retryAfterMs = retryAfterMs
            self.hint = hint
        }
    }

    package var kind: Kind {
        switch self {
        case .badByte: Kind(.badRequest, "Bad byte")
        case .badRequestLine: Kind(.badRequest, "Bad request line")
        case .badField: Kind(.badRequest, "Bad header field")
        case .badHost: Kind(.badRequest, "Bad host")
        case .hostRequired: Kind(.badRequest, "Host required")
        case .badContentLength: Kind(.badRequest, "Bad content length")
        case .badTransferEncoding: Kind(.badRequest, "Bad transfer encoding")
        case .badChunk: Kind(.badRequest, "Bad chunk")
        case .badTrailer: Kind(.badRequest, "Bad trailer")
        case .endedEarly: Kind(.badRequest, "Ended early")
        case .badTarget: Kind(.badRequest, "Bad target")
        case .requestTimeout: Kind(.requestTimeout, "Request timeout", retryable: true)
        case .bodyTooLarge: Kind(.contentTooLarge, "Body too large")
        case .requestLineTooLong: Kind(.uriTooLong, "Request line too long")
        case .unmetExpectation: Kind(.expectationFailed, "Unmet expectation")
        case .wrongHost: Kind(.misdirectedRequest, "Wrong host")
        case .headTooLarge: Kind(.headerFieldsTooLarge, "Head too large")
        case .unknownMethod: Kind(.notImplemented, "Unknown method")
        case .unknownTransferCoding: Kind(.notImplemented, "Unknown transfer coding")
        case .unsupportedVersion: Kind(.versionNotSupported, "Unsupported version")
        case .tooManyConnections:
            Kind(
                .serviceUnavailable,
                "Too many connections",
                retryAfterMs: 1000,
                hint: "Close connections you no longer need, or raise limits.connections."
            )

        case .unreadAnswers:
            Kind(
                .serviceUnavailable,
                "Unread answers",
                retryAfterMs: 5000,
                hint: "Read the answers that were asked for, or raise limits.unreadAnswers."
            )

        case .unfinishedBodies:
            Kind(
                .serviceUnavailable,
                "Unfinished bodies",
                retryAfterMs: 5000,
                hint: "Send fewer large requests at a time, or raise limits.unfinishedBodies."
            )

        case .notPaired: Kind(.unauthorized, "Not paired")
        case .missingScope: Kind(.forbidden, "Missing scope")
        case .sessionNotAllowed: Kind(.forbidden, "Session not allowed")
        case .pathNotAllowed: Kind(.forbidden, "Path not allowed")
        case .crossOrigin: Kind(.forbidden, "Cross-origin request")
        case .funnelRefused: Kind(.forbidden, "Funnel refused")
        case .rateLimited: Kind(.tooManyRequests, "Rate limited", retryable: true)
        case .tooManyTickets: Kind(.tooManyRequests, "Too many tickets", retryAfterMs: 60_000)
        case .tooManyApplications:
            Kind(
                .tooManyRequests,
                "Too many applications",
                retryAfterMs: 60_000,
                hint: "on the host: ladle clients list"
            )
        case .unknownPairing: Kind(.notFound, "Not found")
        case .pairingOver: Kind(.gone, "Invitation over")
        case .unknownCode: Kind(.notFound, "Not found")
        case .alreadyDecided: Kind(.conflict, "Already decided")
        case .unknownToken: Kind(.notFound, "Unknown token", hint: "ladle token list")

        case .badParameter: Kind(.badRequest, "Bad parameter")
        case .badHeader: Kind(.badRequest, "Bad header")
        case .malformedJSON: Kind(.badRequest, "Malformed JSON")
        case .malformedText: Kind(.badRequest, "Malformed text")
        case .invalidField: Kind(.unprocessableContent, "Invalid field")
        case .notFound: Kind(.notFound, "Not found")
        case .methodNotAllowed: Kind(.methodNotAllowed, "Method not allowed")
        case .notAcceptable: Kind(.notAcceptable, "Not acceptable")
        case .unsupportedMediaType: Kind(.unsupportedMediaType, "Unsupported media type")
        case .unsupportedEncoding: Kind(.unsupportedMediaType, "Unsupported encoding")
        case .preconditionRequired:
            Kind(
                .preconditionRequired,
                "If-Match required",
                hint: "send If-Match with the ETag of your last GET, or If-Match: * to write over whatever is there"
            )
        case .preconditionFailed:
            Kind(.preconditionFailed, "Changed meanwhile", hint: "GET it again and repeat the change with its ETag")
        case .placeNotFound: Kind(.notFound, "Not found")
        case .frameLogOff: Kind(.notFound, "Not found", hint: "ladle serve --debug-frames")
        case .tooManyStreams: Kind(.tooManyRequests, "Too many streams", retryAfterMs: 30_000)

        case .stopWord: Kind(.unprocessableContent, "Stop word")
        case .idempotencyKeyReused:
            Kind(.unprocessableContent, "Key used for another request", hint: "use a new key for a new message")
        case .idempotencyInFlight: Kind(.conflict, "Still being accepted", retryAfterMs: 1000)
        case .attachmentTooLarge: Kind(.contentTooLarge, "Attachment too large")
        case .messageTooLarge: Kind(.contentTooLarge, "Message too large")
        case .outboxFull:
            Kind(
                .tooManyRequests,
                "Outbox full",
                retryAfterMs: 60_000,
                hint: "ladle outbox lists what waits; DELETE /v1/outbox/{id} takes an entry back"
            )
        case .storageFull: Kind(.insufficientStorage, "Storage full", retryAfterMs: 30_000, hint: "ladle doctor")
        case .storeUnavailable: Kind(.serviceUnavailable, "Store unavailable", retryAfterMs: 5000, hint: "ladle doctor")
        case .shuttingDown: Kind(.serviceUnavailable, "Shutting down", retryAfterMs: 2000)
        case .noLeader:
            Kind(.serviceUnavailable, "No leader", retryAfterMs: 2000, hint: "ladle cluster status")
        case .leaderLost:
            Kind(.badGateway, "Leader lost", hint: "repeat a message only with the same Idempotency-Key")
        case .sendRejected: Kind(.badGateway, "Send rejected")
        case .runFailed: Kind(.badGateway, "Run failed")
        case .runInterrupted: Kind(.badGateway, "Run interrupted")
        case .runAborted: Kind(.conflict, "Run aborted")
        case .runNotFound: Kind(.notFound, "Not found")
        case .runNotStarted: Kind(.conflict, "Run not started")
        case .entryNotFound: Kind(.notFound, "Not found")
        case .entryCancelled: Kind(.conflict, "Entry cancelled")
        case .entryExpired: Kind(.gatewayTimeout, "Entry expired")
        case .entryChanged: Kind(.preconditionFailed, "Entry changed")
        case .entryUnconfirmed: Kind(.conflict, "Entry unconfirmed")
        case .alreadyDispatched: Kind(.conflict, "Already dispatched")
        case .notRetryable: Kind(.conflict, "Not retryable")
        case .messageNotFound: Kind(.notFound, "Not found")
        case .speechBusy: Kind(.serviceUnavailable, "Speech busy", retryAfterMs: 2000)

        case .approvalNotFound: Kind(.notFound, "Not found")
        case .approvalResolved: Kind(.conflict, "Already decided")
        case .approvalChanged: Kind(.conflict, "Approval changed")
        case .approvalExpired: Kind(.gone, "Approval expired")
        case .decisionNotAllowed: Kind(.unprocessableContent, "Decision not offered")
        case .grantNotFound: Kind(.notFound, "Not found")

        case .sessionNotFound: Kind(.notFound, "Not found", hint: "ladle sessions")
        case .sessionMoved:
            Kind(
                .preconditionFailed,
                "Another conversation",
                hint: "GET the session again and repeat the change with its ETag"
            )
        case .sessionBusy: Kind(.serviceUnavailable, "Session busy", retryAfterMs: 5000)
        case .mainSession: Kind(.conflict, "Main session")
        case .labelTaken: Kind(.conflict, "Label taken")
        case .outboxNotEmpty: Kind(.conflict, "Outbox not empty")
        case .unknownModel: Kind(.unprocessableContent, "Unknown model")
        case .artifactNotFound: Kind(.notFound, "Not found")
        case .artifactElsewhere: Kind(.badGateway, "Artifact elsewhere")

        case .questionNotFound: Kind(.notFound, "Not found")
        case .questionResolved: Kind(.conflict, "Already answered")
        case .questionExpired: Kind(.gone, "Question expired")
        case .answerNotAllowed: Kind(.unprocessableContent, "Answer not offered")

        case .notificationNotFound: Kind(.notFound, "Not found")
        case .notificationLoop: Kind(.conflict, "Notification loop")
        case .notificationsFull: Kind(.conflict, "Too many sinks or rules")
        case .ruleNotFound: Kind(.notFound, "Not found")
        case .sinkNotFound: Kind(.notFound, "Not found")
        case .sinkInConfig: Kind(.conflict, "Sink in the configuration")
        case .commandSinkInConfigOnly: Kind(.unprocessableContent, "Command sink in the configuration only")
        case .urlNotAllowed: Kind(.unprocessableContent, "Address not allowed")

        case .automationNotFound: Kind(.notFound, "Not found", hint: "ladle automations")
        case .alreadyRunning: Kind(.conflict, "Already running")
        case .idempotencyKeyRequired:
            Kind(
                .badRequest,
                "Idempotency-Key required",
                hint:
                    "send Idempotency-Key with a new text for each thing to be done, and the same one with each repeat"
            )

        case .nodeNotFound: Kind(.notFound, "Not found", hint: "ladle nodes")
        case .commandNotAllowed: Kind(.unprocessableContent, "Command not allowed")
        case .nodeOffline: Kind(.serviceUnavailable, "Node offline", retryAfterMs: 30_000)
        case .nodeInBackground: Kind(.serviceUnavailable, "Node in background", retryAfterMs: 60_000)
        case .nodePermission: Kind(.forbidden, "Not permitted at the node")
        case .nodeTimeout: Kind(.gatewayTimeout, "Node timeout")
        case .nodeFailed: Kind(.badGateway, "Node failed")
        case .nodeBusy: Kind(.serviceUnavailable, "Node busy", retryAfterMs: 1000)
        case .resultNotKept: Kind(.conflict, "Result not kept")

        case .gatewayUnavailable:
            Kind(.serviceUnavailable, "Gateway unavailable", retryAfterMs: 5000, hint: "ladle status")
        case .gatewayTimeout: Kind(.gatewayTimeout, "Gateway timeout", retryAfterMs: 5000)
        case .gatewayUnsupported: Kind(.notImplemented, "The gateway cannot do that")
        case .gatewayScopeMissing: Kind(.forbidden, "Gateway scope missing")
        case .gatewayError: Kind(.badGateway, "Gateway error")
        case .gatewayRefused: Kind(.badGateway, "The gateway refused")
        case .gatewayAnswerUnreadable: Kind(.badGateway, "Gateway answer unreadable")
        case .gatewayAnswerTooLarge: Kind(.badGateway, "Gateway answer too large")
        case .unknownAgent: Kind(.notFound, "Unknown agent")
        case .avatarIsRemote: Kind(.notFound, "Not found")
        case .agentDidNotAnswer: Kind(.badGateway, "The agent did not answer", retryable: true)
        case .writeNotSeen: Kind(.conflict, "Write not seen", retryable: true)
        case .documentConflict: Kind(.conflict, "Changed meanwhile", retryable: true)
        case .tooManyWriters: Kind(.tooManyRequests, "Too many writers", retryAfterMs: 1000)
        }
    }
}
