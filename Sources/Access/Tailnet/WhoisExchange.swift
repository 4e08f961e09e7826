import HTTPModel
import JSONBytes

/// The client's half of one `whois` call: bytes in, an answer out.
package struct WhoisExchange: Sendable {
    package let question: WhoisQuestion
    private var exchange = TailscaledExchange()

    package init(_ question: WhoisQuestion) {
        self.question = question
    }

    /// The answer as soon as it is complete; later bytes change nothing.
    package mutating func receive(_ chunk: some Collection<UInt8>) -> WhoisAnswer? {
        exchange.receive(chunk).map { WhoisAnswer($0) }
    }

    package mutating func receiveEnd() -> WhoisAnswer { WhoisAnswer(exchange.receiveEnd()) }
}

extension WhoisAnswer {
    /// Anything that is not a complete, sane 200 with an identity, or a 404, is `failed`.
    package init(_ answer: TailscaledExchange.Answer) {
        self =
            switch answer {
            case .complete(.ok, let body):
                Self.identity(body).map(WhoisAnswer.known) ?? .failed("the answer names no peer")
            case .complete(.notFound, _): .unknown
            case .complete(let status, _): .failed("tailscaled answered \(status.code)")
            case .failed(let reason): .failed(reason)
            }
    }

    private static func identity(_ body: [UInt8]) -> TailnetIdentity? {
        guard let document = try? JSONDocument(parsing: body, limits: .gateway) else { return nil }
        let root = document.root
        guard let node = root["Node"], let nodeID = node["StableID"]?.string, !nodeID.isEmpty else { return nil }
        let name = node["ComputedName"]?.string ?? node["Name"]?.string ?? nodeID
        var tags: [String] = []
        if let list = node["Tags"], !list.isNull {
            guard list.kind == .array else { return nil }
            for tag in list.elements {
                guard let text = tag.string else { return nil }
                tags.append(text)
            }
        }
        var capabilities: [String: [[UInt8]]] = [:]
        if let map = root["CapMap"] {
            for (name, values) in map.members { capabilities[name] = values.elements.map { Array($0.raw) } }
        }
        let login = root["UserProfile"]?["LoginName"]?.string
        if tags.isEmpty, login?.isEmpty ?? true { return nil }
        return TailnetIdentity(nodeID: nodeID, nodeName: name, login: login, tags: tags, capabilities: capabilities)
    }
}
