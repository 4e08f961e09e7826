package import Basics
package import JSONBytes
import Ledger

/// One attempt, kept as long as its entry.
package struct OutboxAttempt: Sendable, Equatable, JSONWritable {
    package var at: Timestamp
    package var outcome: AttemptClass
    package var key: String
    package var code: String?
    package var detail: String?
    /// The wait before the next attempt that this one caused.
    package var delayMs: Int64?

    package init(
        at: Timestamp,
        outcome: AttemptClass,
        key: String,
        code: String? = nil,
        detail: String? = nil,
        delayMs: Int64? = nil
    ) {
        self.at = at
        self.outcome = outcome
        self.key = key
        self.code = code
        self.detail = detail
        self.delayMs = delayMs
    }

    /// An attempt with the entry's present key that ended in a fault.
    init(
        of entry: OutboxEntry,
        at now: Timestamp,
        _ outcome: AttemptClass,
        _ fault: OutboxFault,
        delayMs: Int64? = nil
    ) {
        self.init(
            at: now,
            outcome: outcome,
            key: entry.upstreamKey,
            code: fault.code,
            detail: fault.detail,
            delayMs: delayMs
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("at", at)
            writer.member("class", outcome.rawValue)
            writer.member("key", key)
            writer.member("code", code)
            writer.member("detail", detail)
            writer.member("delayMs", delayMs)
        }
    }
}

/// The link's report about one dispatch. Every dispatch gets exactly one.
package enum AttemptOutcome: Sendable, Equatable {
    /// The frame was never written: there was no socket, or it closed before.
    case notDispatched(detail: String)
    case acknowledged(Acknowledgement)
    case rejected(GatewayRejection)
    /// The frame was written, then came a timeout or the end of the connection.
    case noAnswer(detail: String)

    /// The answer to a stop: the gateway has no such run.
    var isNothingToStop: Bool {
        if case .acknowledged(let answer) = self { answer.status == .nothingRan } else { false }
    }

    /// Where a command is that may be repeated at will: its answer is the whole result.
    var placeOfControl: Decision.Place { if case .acknowledged = self { .arrived } else { .here } }

    package struct Acknowledgement: Sendable, Equatable {
        package enum Status: Sendable, Equatable {
            /// The message was accepted now, or the run was stopped.
            case started
            /// The run of the same key is in progress.
            case inFlight
            /// The run of the same key is over or waits behind another run (protocol 3), or the message was a stop
            /// word.
            case finished
            /// The run of the same key failed.
            case failed
            /// The gateway had no run that this abort could stop.
            case nothingRan

            /// Whether the gateway answers from its memory of an earlier dispatch.
            var isOfEarlierRun: Bool { self == .finished || self == .failed }
        }

        package var status: Status
        package var runID: String?

        /// Whether the gateway dropped the message, because it is at work on equal words in this other run.
        func isOfOtherRun(than key: String) -> Bool { status == .inFlight && runID.map { $0 != key } ?? false }

        func fact(of key: String) -> Fact.Answer {
            switch status {
            case .inFlight: isOfOtherRun(than: key) ? .dropped : .atWork
            case .finished, .failed: .remembered
            case .started, .nothingRan: .taken
            }
        }

        package init(status: Status, runID: String? = nil) {
            self.status = status
            self.runID = runID
        }
    }
}

/// The id of one dispatch, so that a late report is not mistaken for a later dispatch's.
package struct AttemptID: Sendable, Hashable {
    package var entry: String
    package var number: Int
    package var key: String

    package init(entry: String, number: Int, key: String) {
        self.entry = entry
        self.number = number
        self.key = key
    }
}

/// The parts of an error frame that the outbox judges.
package struct GatewayRejection: Sendable, Equatable {
    package enum Reason: Sendable, Equatable {
        case refused
        /// Something on which the call was based had changed: nothing was taken, and the same key may go again.
        case outdated
        /// The gateway takes nothing for a while: it starts, suspends, drains or is busy.
        case paused
    }

    package var reason: Reason
    package var code: String
    package var message: String
    package var retryable: Bool?
    package var retryAfterMs: Int64?

    package init(
        code: String,
        message: String,
        retryable: Bool? = nil,
        retryAfterMs: Int64? = nil,
        reason: Reason = .refused
    ) {
        self.reason = reason
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retryAfterMs = retryAfterMs
    }

    /// Whether to try again. `retryable: false` wins over any code. `retryable: true` is ignored for scope and
    /// validation codes. Unknown errors are tried again.
    package var isTransient: Bool {
        if reason != .refused { return true }
        if retryable == false || isDefinite { return false }
        if retryable == true { return true }
        return !Self.terminalCodes.contains(normalisedCode)
    }

    /// Whether the gateway may answer a repeat of the same key from its memory of this refusal. Limits and start-up are
    /// checked before that memory.
    var mayBeRemembered: Bool { reason == .refused && !Self.limitCodes.contains(normalisedCode) }

    /// Whether the command itself is invalid or forbidden, so that the same command can never succeed.
    private var isDefinite: Bool {
        Self.definiteCodes.contains(normalisedCode) || message.hasPrefix("missing scope")
    }

    private var normalisedCode: String { code.uppercased() }

    private static let definiteCodes: Set<String> = [
        "INVALID_REQUEST", "INVALID_PARAMS", "VALIDATION_ERROR", "FORBIDDEN", "MISSING_SCOPE", "UNAUTHORIZED",
        "PERMISSION_DENIED", "POLICY_DENIED", "METHOD_NOT_FOUND", "UNKNOWN_METHOD",
    ]
    private static let terminalCodes: Set<String> = [
        "NOT_FOUND", "SESSION_NOT_FOUND", "AGENT_NOT_FOUND", "CONFLICT", "TOO_LARGE", "PAYLOAD_TOO_LARGE",
        "ALREADY_EXISTS", "UNSUPPORTED", "NOT_SUPPORTED", "GONE",
    ]
    private static let limitCodes: Set<String> = [
        "RATE_LIMITED", "RATE_LIMIT", "TOO_MANY_REQUESTS", "RESOURCE_EXHAUSTED", "STARTING",
    ]
}
