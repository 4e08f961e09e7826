package import Basics
package import JSONBytes

/// `exec.approval.*`, `plugin.approval.*` and `openclaw.approval.*`: a call waits for a person, or a person has decided. Rows of the approval
/// lists have the same members.
package struct ApprovalEvent: Sendable {
    /// As a gateway writes it, and as Ladle's own API does.
    package enum Kind: String, Sendable, CaseIterable {
        case exec, plugin
        /// A change of the gateway itself, which its own agent proposes.
        case systemAgent = "system-agent"
    }

    package enum Decision: Sendable, Equatable {
        case allow, deny
        /// The approval ended in an unknown way.
        case unknown
    }

    package let kind: Kind
    /// Whether the event reports the end.
    package let isResolved: Bool
    private let payload: JSONValue
    /// The presentation that the newest gateways make for the person who decides. Their events have only the request.
    private var presentation: JSONValue?

    package init(_ payload: JSONValue, kind: Kind = .exec, isResolved: Bool = false) {
        self.payload = payload
        self.kind = kind
        self.isResolved = isResolved
    }

    /// An approval in whatever state; nil for one of a kind that Ladle does not know.
    package init?(_ snapshot: ApprovalSnapshot) {
        guard let presentation = snapshot.presentation,
            let kind = presentation["kind"]?.string.flatMap({ Kind(rawValue: $0) })
        else { return nil }
        self.init(snapshot.value, kind: kind)
        self.presentation = presentation
    }

    /// The complete id, never cut: the gateway accepts the beginning of an id, so a cut one could mean another
    /// approval. Nil if it is unreadable.
    package var id: String? { payload["id"]?.visibleIdentifier }
    package var sessionKey: String? {
        let ended = payload["source"]?["sessionKey"]
        return (payload["request"]?["sessionKey"] ?? payload["sourceSessionKey"] ?? ended)?.string
    }
    package var request: ApprovalRequest? {
        (payload["request"] ?? presentation).map { ApprovalRequest($0, presentation) }
    }

    /// The approval with what the gateway shows of it. A row of a list may have no request.
    package func whole(_ snapshot: ApprovalSnapshot) -> ApprovalEvent? {
        guard snapshot.status == .pending, let presentation = snapshot.presentation else { return nil }
        var copy = payload["request"] == nil ? ApprovalEvent(snapshot.value, kind: kind) : self
        copy.presentation = presentation
        return copy
    }
    package var time: Timestamp? { GatewayTime.read(payload["ts"]) ?? createdAt }
    package var createdAt: Timestamp? { GatewayTime.read(payload["createdAtMs"]) }
    package var expiresAt: Timestamp? { GatewayTime.read(payload["expiresAtMs"]) }
    /// The client that decided, by its own name.
    package var resolvedBy: String? { payload["resolvedBy"]?.string }
    /// The decision as sent.
    package var decisionText: String? { payload["decision"]?.string }

    /// Nil until somebody has decided.
    package var decision: Decision? {
        switch decisionText {
        case nil: isResolved ? .unknown : nil
        case "deny": .deny
        case "allow-once", "allow-always": .allow
        default: .unknown
        }
    }
}

/// The call that an approval is about.
package struct ApprovalRequest: Sendable {
    /// The request in the form of tool arguments, for its label.
    package let arguments: JSONValue
    private let presentation: JSONValue?
    /// How far the action reaches, where the gateway says so.
    package let reach: ApprovalReach?

    init(_ request: JSONValue, _ presentation: JSONValue? = nil) {
        arguments = request
        self.presentation = presentation
        reach = presentation?["scope"].flatMap { ApprovalReach($0) }
    }

    private func text(_ name: String) -> String? { arguments[name]?.string ?? presentation?[name]?.string }

    package var command: String? { arguments["command"]?.string ?? arguments["argv"]?[0]?.string }

    /// The command to execute; nil if the gateway does not send all of it.
    package var wholeCommand: String? {
        if let command = arguments["command"]?.string { return command }
        if let text = arguments["systemRunPlan"]?["commandText"]?.string { return text }
        if let text = presentation?["commandText"]?.string { return text }
        let words = arguments["argv"] ?? arguments["commandArgv"] ?? arguments["systemRunPlan"]?["argv"]
        let list = words.map { Self.strings($0) } ?? []
        return list.isEmpty || list.count != words?.count ? nil : list.map(Self.quoted).joined(separator: " ")
    }

    /// The word quoted as for a shell, so that the limits between words are visible.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x2B...0x3A).contains(byte) || (0x40...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || [UInt8(ascii: "%"), UInt8(ascii: "="), UInt8(ascii: "_")].contains(byte)
        }
        if isPlain, !word.isEmpty { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// The bytes that tell this question from another, for a hash: each text, or nothing if it is missing, followed by
    /// a zero byte.
    package var fingerprint: [UInt8] {
        let texts = [wholeCommand, title, explanation, tool, agent, cwd, host, node] + variables + warnings
        return Array(
            (texts + (reach?.texts ?? []) + (proposal.map { [$0] } ?? [])).map { ($0 ?? "") + "\0" }.joined().utf8
        )
    }

    /// The gateway's own hash of the change that its agent proposes.
    private var proposal: String? { text("proposalHash") }

    /// False if a part of the question is not a text, or is longer than the limit.
    package var isReadable: Bool {
        if let scope = presentation?["scope"], !scope.isNull, reach == nil { return false }
        let lists = [arguments["envKeys"], arguments["commandAnalysis"]?["warningLines"]]
        return lists.allSatisfy { list in
            guard let list, list.kind == .array else { return true }
            return list.count == Self.strings(list).count
        } && (arguments["env"].map { $0.kind != .object || $0.count <= GatewayLimits.approvalLines } ?? true)
    }

    package var preview: String? { arguments["commandPreview"]?.string }
    package var agent: String? { text("agentId") }
    package var runId: String? { arguments["runId"]?.identifier }
    package var cwd: String? { (arguments["cwd"] ?? arguments["systemRunPlan"]?["cwd"])?.string }
    package var host: String? { text("host") }
    package var node: String? { text("nodeId") }

    /// The names of the variables; their values may be secrets.
    package var variables: [String] {
        if let keys = arguments["envKeys"], keys.kind == .array { return Self.strings(keys) }
        guard let env = arguments["env"], env.kind == .object else { return [] }
        return env.members.prefix(GatewayLimits.approvalLines).map(\.key)
    }

    /// Whether the policy asks each time, so that no decision can be permanent.
    package var isAskedAlways: Bool { arguments["ask"]?.equals("always") ?? false }

    /// Nil if the release does not list them.
    package var allowedDecisions: [String]? {
        let list = presentation?["allowedDecisions"] ?? arguments["allowedDecisions"]
        guard let list, list.kind == .array else { return nil }
        return Self.strings(list)
    }

    package var unavailableDecisions: [String] { arguments["unavailableDecisions"].map { Self.strings($0) } ?? [] }

    package var warnings: [String] {
        let text = text("warningText")
        let lines = arguments["commandAnalysis"]?["warningLines"].map { Self.strings($0) } ?? []
        return (text.map { [$0] } ?? []) + lines.filter { $0 != text }
    }

    package var isRisky: Bool {
        arguments["commandAnalysis"]?["riskKinds"]?.elements.contains { $0.kind == .string } ?? false
    }

    // Members of approvals without a command.
    package var title: String? { text("title") }
    package var explanation: String? { text("description") }
    package var severity: String? { text("severity") }
    package var tool: String? { text("toolName") }

    private static func strings(_ list: JSONValue) -> [String] {
        var texts: [String] = []
        for element in list.elements.prefix(GatewayLimits.approvalLines) {
            if let text = element.string { texts.append(text) }
        }
        return texts
    }
}
