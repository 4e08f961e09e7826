import HTTP1
import HTTPModel
import JSONBytes

/// The client's half of one `whois` call: bytes in, an answer out. Anything that is not a complete, sane 200 with an
/// identity, or a 404, is `failed`.
///
/// The edge connects to tailscaled's socket, writes `question.request`, feeds what comes and ends with `receiveEnd()`
/// or gives up after `deadlineMilliseconds`.
package struct WhoisExchange: Sendable {
    package static let deadlineMilliseconds = 2000
    /// An answer is a few kilobytes; capability maps make some larger.
    private static let limits = HTTP1Limits(fieldBlock: 16 << 10, fieldCount: 100, body: 512 << 10)

    package let question: WhoisQuestion
    private var parser = HTTP1ResponseParser(requestMethod: .get, limits: Self.limits)
    private var body: [UInt8] = []
    private var answer: WhoisAnswer?

    package init(_ question: WhoisQuestion) {
        self.question = question
    }

    /// The answer as soon as it is complete; later bytes change nothing.
    package mutating func receive(_ chunk: some Collection<UInt8>) -> WhoisAnswer? {
        if let answer { return answer }
        let input = Array(chunk)
        var offset = 0
        do throws(HTTP1ParseError) {
            while true {
                switch try parser.next(in: input.span, from: &offset) {
                case .needMore: return nil
                case .head: continue
                case .body(let range): body += input[range]
                case .end: return finish(content)
                }
            }
        } catch {
            return finish(.failed("the answer of tailscaled: \(error.text)"))
        }
    }

    package mutating func receiveEnd() -> WhoisAnswer {
        if let answer { return answer }
        let isComplete = (try? parser.receiveEnd()) ?? false
        return finish(isComplete ? content : .failed("the answer is cut short"))
    }

    private mutating func finish(_ value: WhoisAnswer) -> WhoisAnswer {
        answer = value
        body = []
        return value
    }

    private var content: WhoisAnswer {
        switch parser.head.status {
        case .ok: Self.identity(body).map(WhoisAnswer.known) ?? .failed("the answer names no peer")
        case .notFound: .unknown
        case let status: .failed("tailscaled answered \(status.code)")
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
