import Basics

/// All topics that Ladle writes to and reads from. Each is a legal topic of at most six levels and 200 bytes.
package struct BrokerTopics: Sendable, Equatable {
    /// Levels of prefix and name together; `cmd/approvals/deny` takes three more.
    private static let ownLevels = 3
    private static let longestPart = 64

    package let discoveryPrefix: String
    /// Prefix and name; all own topics are below.
    package let root: String
    let prefix: String

    package init(prefix: String, name: String, discoveryPrefix: String = "homeassistant") throws(TopicProblem) {
        let levels = try Self.check(prefix) + Self.check(name)
        guard levels <= Self.ownLevels else { throw .tooManyLevels(limit: Self.ownLevels) }
        _ = try Self.check(discoveryPrefix)
        self.prefix = prefix
        root = "\(prefix)/\(name)"
        self.discoveryPrefix = discoveryPrefix
    }

    /// Checks a part of a topic as it stands in the configuration, and counts its levels.
    @discardableResult
    package static func check(_ part: String) throws(TopicProblem) -> Int {
        guard !part.isEmpty else { throw .empty }
        guard part.utf8.count <= longestPart else { throw .tooLong(bytes: longestPart) }
        guard part.utf8.first != UInt8(ascii: "$") else { throw .dollar }
        for scalar in part.unicodeScalars {
            if scalar == "+" || scalar == "#" { throw .wildcard }
            if !TopicLevel.isAllowed(scalar) { throw .control }
        }
        let levels = levels(part)
        guard levels.allSatisfy({ !$0.isEmpty }) else { throw .emptyLevel }
        guard levels.count <= ownLevels else { throw .tooManyLevels(limit: ownLevels) }
        return levels.count
    }

    /// The first label of a host name as a level of small letters, digits and dashes.
    package static func defaultName(host: String) -> String {
        var name: [UInt8] = []
        for byte in host.utf8.prefix(while: { $0 != UInt8(ascii: ".") }).prefix(63) {
            let small = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if small.isASCIIDigit || small.isASCIILetter {
                name.append(small)
            } else if let last = name.last, last != UInt8(ascii: "-") {
                name.append(UInt8(ascii: "-"))
            }
        }
        while name.last == UInt8(ascii: "-") { name.removeLast() }
        return name.isEmpty ? "ladle" : String(decoding: name, as: UTF8.self)
    }

    /// Splits by bytes, because a slash and a combining character after it are one `Character`.
    static func levels(_ topic: String) -> [Substring] {
        topic.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
    }

    // MARK: Out

    package var status: String { own("status") }
    package var link: String { own("link") }
    package var activity: String { own("activity") }
    package var reply: String { own("reply") }
    package var error: String { own("error") }
    package var outbox: String { own("outbox") }
    package var approvals: String { own("approvals") }
    package var usage: String { own("usage") }
    package var eventsReset: String { event("reset") }
    package var haRun: String { own("ha/run") }
    package var haApproval: String { own("ha/approval") }
    package var results: String { own("results") }

    package func session(_ key: String) -> String { named("sessions", key) }

    /// The dot of a type stays: `run.started` is one level.
    package func event(_ type: String) -> String { named("events", type) }

    /// The topic of one device's description. `id` has letters, digits, `_` and `-`; others become `_`.
    package func discovery(_ id: String) -> String {
        "\(discoveryPrefix)/device/\(BrokerDiscovery.identifier(id))/config"
    }

    // MARK: In

    package var send: String { own("send") }
    var cmdSend: String { own("cmd/send") }
    var cmdAbort: String { own("cmd/abort") }
    var cmdRetry: String { own("cmd/retry") }
    var cmdApprovals: String { own("cmd/approvals") }
    var cmdApprovalsDeny: String { own("cmd/approvals/deny") }
    var cmdSession: String { own("cmd/session") }

    package func send(session key: String) -> String { named("send", key) }

    /// Home Assistant says `online` here once it listens.
    package var discoveryStatus: String { "\(discoveryPrefix)/status" }

    /// Filters to subscribe to. No two of them match one topic, so each message comes once.
    package func filters(_ scopes: BrokerScopes, isDiscovering: Bool) -> [String] {
        var filters: [String] = []
        if scopes.contains(.send) { filters += [send, own("send/+"), cmdSend, cmdAbort, cmdRetry] }
        if scopes.contains(.approvals) { filters += [cmdApprovals, cmdApprovalsDeny] }
        if scopes.contains(.control) { filters.append(cmdSession) }
        if isDiscovering { filters.append(discoveryStatus) }
        return filters
    }

    /// Filters that a session kept by the broker may still have from an earlier configuration.
    package func unwantedFilters(_ scopes: BrokerScopes, isDiscovering: Bool) -> [String] {
        let wanted = filters(scopes, isDiscovering: isDiscovering)
        return filters(.all, isDiscovering: true).filter { !wanted.contains($0) }
    }

    private func own(_ rest: String) -> String { "\(root)/\(rest)" }

    private func named(_ family: String, _ text: String) -> String {
        let start = own(family) + "/"
        return start + TopicLevel.escape(text, limit: BrokerLimits.topicBytes - start.utf8.count)
    }
}
