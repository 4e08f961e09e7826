package import Basics
package import JSONBytes
import TLS

/// One change of state for the audit file: caller, operation, target and result. Texts appear only as hash and length.
package struct AuditRecord: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        case done
        /// Refused, with the stable code of the problem.
        case refused(String)
        case failed(String)
    }

    package struct TextMark: Sendable, Equatable {
        package let sha256: String
        package let length: Int

        package init(_ text: [UInt8]) {
            sha256 = Hex.encode(Digest.sha256(text))
            length = text.count
        }
    }

    /// The decision about an approval, and the hash of its command.
    package struct Decision: Sendable, Equatable {
        package let name: String
        package let command: String?

        package init(_ name: some StringProtocol, command: String?) {
            self.name = String(name)
            self.command = command
        }
    }

    package let at: Timestamp
    /// The caller's `label`.
    package let who: String
    package let from: String?
    /// The operation id: `sendMessage`, `revokeToken`.
    package let what: String
    /// The affected entry, token, session or resource.
    package let which: String?
    package let outcome: Outcome
    package let requestID: String?
    package let text: TextMark?
    package let decision: Decision?
    /// The number of this caller's refusals left out before this one.
    package let suppressed: UInt64

    package init(
        at: Timestamp,
        who: String,
        from: String? = nil,
        what: String,
        which: String? = nil,
        outcome: Outcome,
        requestID: String? = nil,
        text: TextMark? = nil,
        decision: Decision? = nil,
        suppressed: UInt64 = 0
    ) {
        self.at = at
        self.who = who
        self.from = from
        self.what = what
        self.which = which
        self.outcome = outcome
        self.requestID = requestID
        self.text = text
        self.decision = decision
        self.suppressed = suppressed
    }

    /// The line with its line feed.
    package var line: [UInt8] {
        var writer = JSONWriter(capacity: 320)
        writer.value(self)
        return writer.bytes + [0x0A]
    }
}

extension AuditRecord: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("at", at)
            writer.member("who", who)
            writer.member("from", from)
            writer.member("what", what)
            writer.member("which", which)
            switch outcome {
            case .done: writer.member("result", "done")
            case .refused(let code):
                writer.member("result", "refused")
                writer.member("code", code)
            case .failed(let code):
                writer.member("result", "failed")
                writer.member("code", code)
            }
            writer.member("requestId", requestID)
            if let decision {
                writer.member("decision", decision.name)
                writer.member("commandSha256", decision.command)
            }
            if let text {
                writer.member("textSha256", text.sha256)
                writer.member("textBytes", text.length)
            }
            if suppressed > 0 { writer.member("suppressed", Int64(clamping: suppressed)) }
        }
    }
}
