package import Basics
package import Gateway
package import JSONBytes

/// A command or a plugin's action that the gateway holds back until somebody decides. Its texts are safe to show: no character can
/// hide or move another.
package struct Approval: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case exec, plugin
    }

    package enum State: String, Sendable, CaseIterable {
        case pending, allowed, denied, expired, cancelled, unknown
    }

    package enum Decision: String, Sendable, CaseIterable {
        case allowOnce = "allow-once"
        case allowAlways = "allow-always"
        case deny
    }

    package enum Risk: String, Sendable {
        case info, warning, critical
    }

    /// The client that decided: Ladle or another one.
    package enum Via: String, Sendable {
        case ladle, other
    }

    package let id: String
    package let kind: Kind
    package var session: String?
    package var agent: String?
    package var runID: String?
    package var state = State.pending
    package var title: String
    package var command: String?
    /// The SHA-256 of the whole request as it was sent, in hexadecimal.
    package var commandSHA256: String?
    /// A part of the request is not shown.
    package var isTruncated = false
    package var explanation: String?
    package var tool: String?
    package var cwd: String?
    package var host: String?
    package var node: String?
    package var variables: [String] = []
    package var warnings: [String] = []
    package var risk = Risk.info
    /// The decisions offered while the approval waits.
    package var decisions: [Decision]
    /// By the gateway's clock, as is `expiresAt`.
    package var createdAt: Timestamp
    package var expiresAt: Timestamp
    package var decision: Decision?
    package var decidedBy: String?
    package var decidedAt: Timestamp?
    package var via: Via?
    package private(set) var isCreatedAtReported = true
    package var isEndReported = true

    package var isPending: Bool { state == .pending }

    /// An estimate of its length as JSON.
    package var byteCount: Int {
        let texts = [title, command ?? "", explanation ?? "", cwd ?? ""] + variables + warnings
        return texts.reduce(1024) { $0 + $1.utf8.count }
    }

    /// For an approval that is read from the database.
    package init(
        id: String,
        kind: Kind,
        title: String,
        decisions: [Decision],
        createdAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.kind = kind
        self.title = title
        self.decisions = decisions
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }

    /// Nil if the event has no id or no request.
    /// - Parameters:
    ///   - session: the session's canonical name.
    ///   - commandSHA256: the hash of the request's fingerprint.
    ///   - now: the time by the gateway's clock.
    package init?(_ event: ApprovalEvent, session: String?, commandSHA256: String?, now: Timestamp) {
        guard let id = event.id, let request = event.request else { return nil }
        var isCut = !request.isReadable
        func shown(_ text: String, bytes: Int = ApprovalLimits.nameBytes) -> String {
            let (start, isWhole) = ShownText.of(text, bytes: bytes)
            if !isWhole { isCut = true }
            return start
        }
        func lines(_ texts: [String], bytes: Int) -> [String] {
            if texts.count > ApprovalLimits.lines { isCut = true }
            return texts.prefix(ApprovalLimits.lines).map { shown($0, bytes: bytes) }
        }
        self.id = id
        self.commandSHA256 = commandSHA256
        self.session = session.map { Printable.escaped($0).text }
        kind = event.kind == .plugin ? .plugin : .exec
        agent = request.agent.map { shown($0) }
        host = request.host.map { shown($0) }
        node = request.node.map { shown($0) }
        cwd = request.cwd.map { shown($0, bytes: ApprovalLimits.pathBytes) }
        tool = request.tool.map { shown($0) }
        explanation = request.explanation.map { shown($0, bytes: ApprovalLimits.explanationBytes) }
        variables = lines(request.variables, bytes: ApprovalLimits.nameBytes)
        warnings = lines(request.warnings, bytes: ApprovalLimits.explanationBytes)
        let whole = request.wholeCommand
        command = whole.map { shown($0, bytes: ApprovalLimits.commandBytes) }
        let name =
            kind == .exec ? command ?? request.title.map { shown($0) } : request.title.map { shown($0) } ?? command
        title = ShownText.line(name ?? "\(kind.rawValue) approval")
        // A command is shown beside its title; a plugin's words are shown as the title only.
        if kind == .plugin, title != name ?? title { isCut = true }
        risk =
            switch request.severity {
            case "critical": .critical
            case "warning": .warning
            default: warnings.isEmpty && !request.isRisky ? .info : .warning
            }
        decisions = Self.decisions(request)
        // A person can only deny a request that is not shown whole.
        let words = kind == .exec ? whole : request.explanation ?? request.title
        if isCut || (words ?? "").isEmpty { decisions = decisions.filter { $0 == .deny } }
        isTruncated = isCut
        createdAt = event.createdAt ?? now
        isCreatedAtReported = event.createdAt != nil
        let longest = now.adding(milliseconds: ApprovalLimits.longestLifeMs)
        isEndReported = event.expiresAt.map { $0 <= longest } ?? false
        expiresAt = min(event.expiresAt ?? now.adding(milliseconds: ApprovalLimits.usualLifeMs), longest)
    }

    /// March gateways do not say which decisions they offer, and accept `allow-always` even if they ask each time.
    private static func decisions(_ request: ApprovalRequest) -> [Decision] {
        let offered =
            request.allowedDecisions.map { names in Decision.allCases.filter { names.contains($0.rawValue) } }
            ?? (request.isAskedAlways ? [.allowOnce, .deny] : Decision.allCases)
        let without = request.unavailableDecisions
        return offered.filter { !without.contains($0.rawValue) }
    }

}

extension Approval.State: UntoldState {}

extension Approval: WaitingItem {
    package typealias Refusal = ApprovalRefusal

    package struct Content: Sendable, Hashable {
        let kind: Kind
        let commandSHA256: String?
        let session: String?
    }

    package static let limits = WaitingLimits(
        pending: ApprovalLimits.pending,
        ended: ApprovalLimits.ended,
        past: ApprovalLimits.past
    )

    package var content: Content { Content(kind: kind, commandSHA256: commandSHA256, session: session) }

    package func offers(_ decision: Decision) -> Bool { decisions.contains(decision) }

    package mutating func end(
        _ state: State,
        _ decision: Decision?,
        by name: String?,
        at time: Timestamp,
        via: Via?
    ) {
        self.state = state
        self.decision = decision
        self.via = via
        decidedBy = name.map { ShownText.name($0) }
        decidedAt = time
    }
}

extension Approval: JSONWritable {
    package func write(to writer: inout JSONWriter) { write(to: &writer, now: nil) }

    /// - Parameter now: the time by the gateway's clock; if given, the remaining time is written too.
    package func write(to writer: inout JSONWriter, now: Timestamp?) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("kind", kind.rawValue)
            writer.member("session", session)
            writer.member("agent", agent)
            writer.member("runId", runID)
            writer.member("state", state.rawValue)
            writer.member("title", title)
            writer.member("command", command)
            writer.member("commandSha256", commandSHA256)
            if isTruncated { writer.member("truncated", true) }
            writer.member("description", explanation)
            writer.member("tool", tool)
            writer.member("cwd", cwd)
            writer.member("host", host)
            writer.member("node", node)
            if !variables.isEmpty { writer.array("env", of: variables) }
            writer.array("warnings", of: warnings)
            writer.member("risk", risk.rawValue)
            writer.array("decisions", of: isPending ? decisions.map(\.rawValue) : [])
            writer.member("createdAt", createdAt)
            writer.member("expiresAt", expiresAt)
            if isPending, let now { writer.member("expiresInMs", max(0, expiresAt.milliseconds - now.milliseconds)) }
            writer.member("decision", decision?.rawValue)
            writer.member("decidedBy", decidedBy)
            writer.member("decidedAt", decidedAt)
            writer.member("via", via?.rawValue)
        }
    }
}

/// Limits on the memory of approvals, so that no gateway can fill it, and the times after which Ladle asks or gives up.
package enum ApprovalLimits {
    /// A longer command is not shown whole, so it can only be denied.
    package static let commandBytes = 64 << 10
    /// Most waiting approvals. A gateway holds a run for each; Ladle takes further ones once there is room.
    package static let pending = 128
    /// Most ended approvals in memory, for decisions that come late or twice. The database has all.
    static let ended = 64
    /// Most ids of approvals that ended earlier. They show that an approval in a list is not new.
    package static let past = 1_024
    /// A decision is refused this close to the approval's end, because it would come too late.
    static let marginMs: Int64 = 500
    /// How long Ladle waits after an approval's end: another client's decision of the last moment may still be on its way to us.
    package static let graceMs: Int64 = 1_000
    /// If the gateway does not know an approval so shortly before the approval's end, its time is over.
    static let endingMs: Int64 = 2_000
    /// Ladle asks about an approval without an end after this time. Releases of summer 2026 give approvals this life.
    static let usualLifeMs: Int64 = 1_800_000
    /// Ladle asks after this time if the gateway reports a later end.
    static let longestLifeMs: Int64 = 86_400_000
    /// The time the gateway has to say whether an approval still waits.
    static let askingMs: Int64 = 60_000
    /// How often Ladle asks about an approval that waits beyond its end.
    static let againMs: Int64 = 30_000
    static let titleCharacters = 120
    static let nameBytes = 512
    static let pathBytes = 4_096
    /// A page of a list ends with the approval that makes it this long. The longest approval takes most of a page.
    package static let pageBytes = 1 << 20
    /// Longest description and warning.
    static let explanationBytes = 2_048
    /// Most warnings, and most variables.
    static let lines = 32
}

/// Makes an agent's texts safe to show to the person who decides: no character can hide or move another.
enum ShownText {
    /// Characters are spelt out if they could hide others. The spelt-out text may be twice as long, so that memory has a limit.
    static func of(_ text: String, bytes: Int) -> (text: String, isWhole: Bool) {
        let start = start(of: text, bytes: bytes)
        let (shown, isWhole) = Printable.escaped(start, limit: 2 * bytes)
        return (shown, isWhole && start.utf8.count == text.utf8.count)
    }

    /// The name of a client.
    static func name(_ text: String) -> String { line(of(text, bytes: ApprovalLimits.nameBytes).text) }

    static func line(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard scalars.count > ApprovalLimits.titleCharacters else { return text }
        return String(String.UnicodeScalarView(scalars.prefix(ApprovalLimits.titleCharacters - 1))) + "…"
    }

    /// Cuts between scalars, not characters: one character can have any number of scalars.
    private static func start(of text: String, bytes: Int) -> String {
        guard text.utf8.count > bytes else { return text }
        var view = String.UnicodeScalarView()
        var size = 0
        for scalar in text.unicodeScalars {
            size += UTF8.width(scalar)
            guard size <= bytes else { break }
            view.append(scalar)
        }
        return String(view)
    }
}
