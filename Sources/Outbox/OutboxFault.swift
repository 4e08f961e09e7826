package import JSONBytes
import Ledger

/// The reason why an entry does not move on, or failed the last time.
package struct OutboxFault: Sendable, Equatable, JSONWritable {
    package var code: String
    package var detail: String

    package init(code: String, detail: String) {
        self.code = code
        self.detail = detail
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("code", code)
            writer.member("detail", detail)
        }
    }
}

extension OutboxFault {
    static func expired(_ detail: String) -> OutboxFault { OutboxFault(code: "EXPIRED", detail: detail) }
    static func noAnswer(_ detail: String) -> OutboxFault { OutboxFault(code: "NO_ANSWER", detail: detail) }
    static func unreachable(_ detail: String) -> OutboxFault {
        OutboxFault(code: "GATEWAY_UNREACHABLE", detail: detail)
    }
    static func targetChanged(_ detail: String) -> OutboxFault { OutboxFault(code: "TARGET_CHANGED", detail: detail) }
    static func unsupported(_ kind: OutboxKind) -> OutboxFault {
        OutboxFault(code: "UNSUPPORTED_KIND", detail: "this version does not know commands of kind \(kind.rawValue)")
    }
    /// The gateway acknowledged the message and then refused to run it, as June gateways do in older sessions after a
    /// restart.
    package static func sessionConflict(_ reason: String) -> OutboxFault {
        OutboxFault(
            code: sessionConflictCode,
            detail:
                "The gateway refused to run the message (\(reason)). It may still read its words with the session's next "
                + "message, so retry this one only if it did not. Versions around \(GatewayProfile.refusingRelease) do that in older "
                + "sessions after a restart, until a message to a new session: \(sessionConflictCure)"
        )
    }
    /// The gateway wrote the message's row and began no run: it was restarted before, or ended the message at once.
    package static let notRun = OutboxFault(
        code: notRunCode,
        detail:
            "The gateway wrote the message into its transcript and did not run it. It may still read its words with the session's next "
            + "message, so retry this one only if it did not."
    )
    /// The message was given up before the gateway had taken it, so nothing of it ran.
    /// - Parameter isLost: it was the gateway that gave the message up; otherwise somebody stopped it.
    package static func givenUp(isLost: Bool, reason: String) -> OutboxFault {
        isLost
            ? OutboxFault(
                code: "GATEWAY_GAVE_UP",
                detail: "The gateway gave the message up before it had taken it (\(reason))."
            )
            : OutboxFault(
                code: "STOPPED_BEFORE",
                detail: "Somebody stopped the message before the gateway had taken it."
            )
    }
    static let notRunCode = "NOT_RUN"
    /// Why messages of a session wait.
    static let refusing =
        "the gateway was restarted and would refuse this message, as versions around \(GatewayProfile.refusingRelease) do in older sessions, "
        + "until a message to a new session: \(sessionConflictCure)"
    static let sessionConflictCode = "SESSION_CONFLICT"
    /// A run in a session that is new to the gateway cures all others.
    package static let sessionConflictCure = "ladle send --session new-$(date +%s) hello"
    /// The gateway acknowledged the message, wrote nothing of it and did not run it, because it is about to restart.
    package static let draining = OutboxFault(
        code: "GATEWAY_DRAINING",
        detail: "The gateway is about to restart and did not run the message. It goes again after the restart."
    )
    static func sameWords(_ run: String) -> OutboxFault {
        OutboxFault(
            code: "SAME_WORDS_AT_WORK",
            detail:
                "The gateway is at work on the same words in the run \(run) and dropped this message. It goes again when that run ends."
        )
    }
    static let unknownCode = "UNKNOWN"
    /// Later messages of the session go.
    /// - Parameter wasTaken: the gateway had acknowledged the message.
    static func unknown(wasTaken: Bool) -> OutboxFault {
        let what =
            wasTaken
            ? "The gateway took the message and does not show what became of it. It may have run, or been read with another message. So it"
            : "Nothing at the gateway shows whether the message arrived, so it"
        let cure =
            " is not sent again by itself and later ones go. If no answer comes, cancel the message and send it anew."
        return OutboxFault(code: unknownCode, detail: what + cure)
    }
    static let lost = OutboxFault(
        code: "LOST",
        detail:
            "The gateway was restarted and does not have the message. Later ones were sent meanwhile, so retry it only if it still makes sense."
    )
    /// Whether the gateway may still read the message's words, or run them, by itself.
    package var mayReturn: Bool { [Self.sessionConflictCode, Self.notRunCode, Self.stoppedUnseen.code].contains(code) }
    /// Why a message that was sent, and on which the gateway does not work, does not go again.
    package static let stopped = OutboxFault(
        code: "STOPPED",
        detail: "The message's run was to be stopped, and the gateway does not work on it, so it is not sent again."
    )
    /// The same, where an earlier stop may have ended the message before its run began, and the gateway keeps the words.
    package static let stoppedUnseen = OutboxFault(
        code: "STOPPED_UNSEEN",
        detail:
            "The message's run was to be stopped, and the gateway shows nothing of the message, so it is not sent again. The gateway may "
            + "still read the words with the session's next message."
    )
    /// Why an abort that arrived stopped nothing.
    package static let nothingRanCode = "NOTHING_RAN"
    static let nothingRan = OutboxFault(code: nothingRanCode, detail: "the gateway had no such run at that moment")
    /// Why a stop does not follow its message into a run that the gateway began by itself.
    package static func sharedRun(_ run: String) -> OutboxFault {
        OutboxFault(
            code: "SHARED_RUN",
            detail:
                "The gateway answers the stopped message in the run \(run), and there may answer another message too, so that "
                + "run was not stopped. To stop it all the same, retry this entry."
        )
    }
    static let superseded = OutboxFault(code: "SUPERSEDED", detail: "a newer command for the same thing replaced it")
    static let heldAfterRestart = OutboxFault(
        code: "HELD_AFTER_RESTART",
        detail: "outbox.resume=hold: commands waiting at a restart are sent only when retried by hand"
    )
}
