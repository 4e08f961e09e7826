package import JSONBytes

/// Why an entry is not going on, or did not the last time.
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
    static let superseded = OutboxFault(code: "SUPERSEDED", detail: "a newer command for the same thing replaced it")
    static let heldAfterRestart = OutboxFault(
        code: "HELD_AFTER_RESTART",
        detail: "outbox.resume=hold: commands waiting at a restart are sent only when retried by hand"
    )
}
