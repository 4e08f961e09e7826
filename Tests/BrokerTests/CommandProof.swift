import Basics
import Broker
import JSONBytes

/// Properties of every message, whatever a broker sends. The fuzz driver uses it too.
enum CommandProof {
    static let now = Timestamp(milliseconds: 1_795_000_000_000)
    static let topics = try? BrokerTopics(prefix: "ladle", name: "den")

    /// The first byte has the flags; the topic ends at the first line end, the response topic at the second.
    static func message(_ bytes: [UInt8]) -> BrokerMessage? {
        guard let flags = bytes.first else { return nil }
        let parts = bytes.dropFirst().split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let topic = String(validating: parts[0], as: UTF8.self),
            let response = String(validating: parts[1], as: UTF8.self)
        else { return nil }
        return BrokerMessage(
            topic: topic,
            payload: Array(parts[2]),
            isRetained: flags & 1 != 0,
            isDuplicate: flags & 2 != 0,
            correlation: flags & 4 != 0 ? Array(parts[1]) : nil,
            responseTopic: flags & 8 != 0 ? response : nil,
            properties: flags & 16 != 0 ? [.init("idempotency-key", response), .init("wait", "true")] : [],
            expiry: flags & 32 != 0 ? UInt32(flags) : nil
        )
    }

    /// Nil where all is well.
    static func problem(with bytes: [UInt8]) -> String? {
        guard let topics else { return "no topics" }
        guard let message = message(bytes) else { return nil }
        let scopes = BrokerScopes(rawValue: bytes[0] >> 6 == 3 ? 1 : 15)
        let reader = CommandReader(topics: topics, scopes: scopes)
        switch reader.read(message, now: now) {
        case .ignored: return nil
        case .refused(let refusal, let verb, let address):
            if let problem = problem(of: address) { return problem }
            return problem(of: BrokerResult.refused(refusal, verb: verb, address))
        case .command(let command):
            if message.isRetained { return "a retained command is carried out" }
            if !scopes.takesCommands { return "a command is carried out without its scope" }
            if let problem = problem(of: command.address) { return problem }
            if let problem = problem(of: command) { return problem }
            return problem(
                of: BrokerResult.answered(message.payload, status: 202, verb: command.verb, command.address)
            )
        }
    }

    private static func problem(of command: BrokerCommand) -> String? {
        if case .given(let key) = command.key {
            let isPlain = key.utf8.allSatisfy { (0x21...0x7E).contains($0) && ![0x22, 0x2C, 0x3B].contains($0) }
            if !isPlain || key.utf8.count > 255 { return "the key is no header value" }
        }
        guard case .request(let request) = command.action else { return nil }
        let segments = request.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isPath = request.path.utf8.allSatisfy { byte in
            byte.isASCIILetter || byte.isASCIIDigit || [0x2D, 0x2E, 0x5F, 0x7E, 0x2F, 0x25].contains(byte)
        }
        guard isPath, segments.count >= 3, !segments.dropFirst().contains(where: { $0.allSatisfy { $0 == 0x2E } })
        else { return "the path is not plain: \(request.path)" }
        guard !request.body.isEmpty else { return nil }
        guard let root = try? JSONDocument(parsing: request.body).root, root.kind == .object else {
            return "the body is not JSON"
        }
        for name in ["id", "wait", "at"] where root[name] != nil { return "the body has the command's own members" }
        if root["decision"]?.equals("allow-always") ?? false { return "it is allowed for ever" }
        return nil
    }

    private static func problem(of address: ResultAddress) -> String? {
        let trees = ["homeassistant", "ladle/den/send", "ladle/den/cmd", "ladle/den/status", "ladle/attic"]
        let isForbidden = trees.contains { tree in
            let rest = address.topic.utf8.dropFirst(tree.utf8.count)
            return address.topic.utf8.starts(with: tree.utf8) && (rest.isEmpty || rest.first == UInt8(ascii: "/"))
        }
        if isForbidden || address.topic.utf8.first == UInt8(ascii: "$") { return "the result goes to \(address.topic)" }
        return nil
    }

    private static func problem(of result: [UInt8]) -> String? {
        guard (try? JSONDocument(parsing: result)) != nil else { return "the result is not JSON" }
        return result.count > BrokerLimits.resultBytes ? "the result is too long" : nil
    }
}
