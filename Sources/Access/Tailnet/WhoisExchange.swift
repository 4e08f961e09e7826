import JSONBytes

/// The client's half of one `whois` call: bytes in, an answer out. Anything that is not a complete, sane 200 with an
/// identity, or a 404, is `failed`.
///
/// The edge connects to tailscaled's socket, writes `question.request`, feeds what comes and ends with `receiveEnd()`
/// or gives up after `deadlineMilliseconds`.
package struct WhoisExchange: Sendable {
    package static let deadlineMilliseconds = 2000
    /// An answer is a few kilobytes; capability maps make some larger.
    private static let longestAnswer = 512 << 10
    private static let longestHead = 16 << 10

    package let question: WhoisQuestion
    private var bytes: [UInt8] = []
    private var answer: WhoisAnswer?

    package init(_ question: WhoisQuestion) {
        self.question = question
    }

    /// The answer as soon as it is complete; later bytes change nothing.
    package mutating func receive(_ chunk: some Collection<UInt8>) -> WhoisAnswer? {
        if let answer { return answer }
        guard bytes.count + chunk.count <= Self.longestAnswer else { return finish(.failed("the answer is too long")) }
        bytes.append(contentsOf: chunk)
        return evaluate(ended: false)
    }

    package mutating func receiveEnd() -> WhoisAnswer {
        answer ?? evaluate(ended: true) ?? finish(.failed("the answer is cut short"))
    }

    private mutating func finish(_ value: WhoisAnswer) -> WhoisAnswer {
        answer = value
        bytes = []
        return value
    }

    private mutating func evaluate(ended: Bool) -> WhoisAnswer? {
        guard let headEnd = Self.headEnd(bytes) else {
            return bytes.count > Self.longestHead ? finish(.failed("the answer's head is too long")) : nil
        }
        guard let head = WhoisResponseHead(bytes[..<headEnd]) else {
            return finish(.failed("the answer is not HTTP"))
        }
        let body: [UInt8]?
        switch head.framing {
        case .length(let length):
            let available = bytes.count - headEnd
            body = available >= length ? Array(bytes[headEnd..<headEnd + length]) : nil
        case .chunked:
            switch WhoisResponseHead.decodeChunks(bytes[headEnd...]) {
            case .complete(let content): body = content
            case .incomplete: body = nil
            case .malformed: return finish(.failed("the answer's chunks are malformed"))
            }
        case .untilEnd:
            body = ended ? Array(bytes[headEnd...]) : nil
        }
        guard let body else { return nil }
        switch head.status {
        case 200: return finish(Self.identity(body).map(WhoisAnswer.known) ?? .failed("the answer names nobody"))
        case 404: return finish(.unknown)
        default: return finish(.failed("tailscaled answered \(head.status)"))
        }
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        var index = 3
        while index < bytes.count {
            if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10, bytes[index - 3] == 13 {
                return index + 1
            }
            index += 1
        }
        return nil
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
