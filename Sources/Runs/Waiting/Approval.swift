package import Basics
package import Gateway
package import JSONBytes

/// A command, a plugin's action or a change of the gateway itself that the gateway holds back until somebody decides. Its texts are safe
/// to show: no character can hide or move another.
package struct Approval: Sendable, Equatable {
    package typealias Kind = ApprovalEvent.Kind

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
    /// How far the action reaches, where the gateway says so.
    package var reach: ApprovalReach?
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

    /// An estimate of its length as JSON.
    package var byteCount: Int {
        let texts = [title, command ?? "", explanation ?? "", cwd ?? ""] + variables + warnings
        return texts.reduce(1024) { $0 + $1.utf8.count }
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
        kind = event.kind
        agent = request.agent.map { shown($0) }
        host = request.host.map { shown($0) }
        node = request.node.map { shown($0) }
        cwd = request.cwd.map { shown($0, bytes: ApprovalLimits.pathBytes) }
        tool = request.tool.map { shown($0) }
        explanation = request.explanation.map { shown($0, bytes: ApprovalLimits.explanationBytes) }
        variables = lines(request.variables, bytes: ApprovalLimits.nameBytes)
        warnings = lines(request.warnings, bytes: ApprovalLimits.explanationBytes)
        reach = request.reach.map { $0.shown { shown($0) } }
        let whole = request.wholeCommand
        command = whole.map { shown($0, bytes: ApprovalLimits.commandBytes) }
        let name =
            kind == .exec ? command ?? request.title.map { shown($0) } : request.title.map { shown($0) } ?? command
        title = ShownText.line(name ?? "\(kind.rawValue) approval")
        // A command is shown beside its title; other words are shown as the title only.
        if kind != .exec, title != name ?? title { isCut = true }
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
        let longest = now.adding(milliseconds: WaitingLimits.longestLifeMs)
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

    /// The whole question in lines: everything that a person should know before allowing it. Each part stands on one
    /// line, so that no command can pretend to be another part.
    package var question: String {
        var lines = [kind == .exec ? command ?? title : title]
        if let tool { lines.append("with \(tool)") }
        if kind != .exec, let command { lines.append(command) }
        if let explanation { lines.append(explanation) }
        if let reach { lines.append(reach.line) }
        if let cwd { lines.append("in \(cwd)") }
        if let host { lines.append("on the \(host)") }
        if let node { lines.append("on node \(node)") }
        if let agent { lines.append("for agent \(agent)") }
        if !variables.isEmpty { lines.append("sets \(variables.joined(separator: ", "))") }
        if isTruncated { lines.append("… a part of it is too long to be shown, so it can only be denied") }
        return (lines + warnings.map { "! \($0)" }).joined(separator: "\n")
    }
}

/// The gateway's waiting approvals, and the approvals that ended recently.
package typealias ApprovalRegister = WaitingRegister<Approval>

extension Approval.State: WaitingState {}

extension Approval: WaitingItem {
    package struct Content: Sendable, Hashable {
        let kind: Kind
        let commandSHA256: String?
        let session: String?
    }

    package static let limits = WaitingLimits(
        pending: ApprovalLimits.pending,
        ended: ApprovalLimits.ended,
        past: ApprovalLimits.past,
        lost: Decision.allCases.count
    )

    package static func state(after decision: Decision) -> State { decision == .deny ? .denied : .allowed }

    package var content: Content { Content(kind: kind, commandSHA256: commandSHA256, session: session) }

    package func offers(_ decision: Decision) -> Bool { decisions.contains(decision) }

    package mutating func withdraw(_ decision: Decision) { decisions.removeAll { $0 == decision } }

    package func hasEnded(by decision: Decision) -> Bool { self.decision == decision }

    package func end(
        told event: ApprovalEvent,
        after sent: [ApprovalRegister.Attempt],
        own: String,
        at time: Timestamp
    ) -> ApprovalRegister.End? {
        guard let decision = event.decisionText.flatMap({ Decision(rawValue: $0) }) else {
            let isOver = event.decisionText == nil && isEnding(at: time)
            return isOver ? .timeout(at: time) : ApprovalRegister.End(.unknown, at: time)
        }
        let (name, sender) = (event.resolvedBy, sent.last { $0.choice == decision }?.sender)
        let isOurs = sender != nil && (name == nil || name == own)
        return ApprovalRegister.End(
            Self.state(after: decision),
            decision,
            by: isOurs ? sender : name,
            at: time,
            via: isOurs ? .ladle : .other
        )
    }

    package mutating func end(_ end: ApprovalRegister.End) {
        state = end.state
        decision = end.choice
        via = end.via
        decidedBy = end.name.map { ShownText.name($0) }
        decidedAt = end.time
    }
}

extension ApprovalRegister.End {
    /// The end as a gateway remembers it; nil if the approval still waits, or its state cannot be read.
    package init?(_ snapshot: ApprovalSnapshot, now: Timestamp) {
        let time = snapshot.endedAt ?? now
        let decision = snapshot.decision.flatMap { Approval.Decision(rawValue: $0) }
        switch snapshot.status {
        case .allowed where decision != .deny: self.init(.allowed, decision, by: snapshot.decider, at: time)
        case .denied: self.init(.denied, .deny, by: snapshot.decider, at: time)
        case .expired: self = .timeout(at: time)
        case .cancelled: self.init(.cancelled, at: time)
        case .pending, .allowed, nil: return nil
        }
    }
}

extension Approval: JSONWritable {
    package func write(to writer: inout JSONWriter) { write(to: &writer, now: nil) }

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
            if let reach { writer.object("reach") { reach.write(to: &$0) } }
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

/// Limits on the memory of approvals, so that no gateway can fill it.
package enum ApprovalLimits {
    /// A longer command is not shown whole, so it can only be denied.
    package static let commandBytes = 64 << 10
    package static let pending = 128
    /// The database has all ended approvals.
    static let ended = 64
    package static let past = 1_024
    /// Ladle asks about an approval without an end after this time. Releases of summer 2026 give approvals this life.
    static let usualLifeMs: Int64 = 1_800_000
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
