package import EventLoops
package import Gateway

/// Asks the gateway for the newest rows of sessions. At most one page of a session is under way; questions that come
/// meanwhile share the next one, which is as long as the longest of them needs. A page that was asked for earlier never
/// answers a later question: it may lack the newest rows.
package final class TranscriptReader {
    package typealias Page = Result<ChatHistory.Output, CallFailure>

    private struct Waiting {
        var rows = 0
        var completions: [(Page) -> Void] = []
    }

    private unowned let gateway: any GatewayCalls
    private var waiting: [String: Waiting] = [:]
    private var underWay: Set<String> = []

    package init(gateway: any GatewayCalls) {
        self.gateway = gateway
    }

    /// At least `rows` of the newest rows, where the session has them; the gateway gives at most 1,000.
    package func read(
        _ session: String,
        rows: Int,
        on loop: isolated EventLoop,
        completion: @escaping (Page) -> Void
    ) {
        waiting[session, default: Waiting()].rows = max(waiting[session]?.rows ?? 0, rows)
        waiting[session]?.completions.append(completion)
        if underWay.insert(session).inserted { ask(session, on: loop) }
    }

    private func ask(_ session: String, on loop: isolated EventLoop) {
        guard let questions = waiting.removeValue(forKey: session) else {
            underWay.remove(session)
            return
        }
        gateway.call(ChatHistory(sessionKey: session, limit: questions.rows), on: loop) { [weak self] page in
            for completion in questions.completions { completion(page) }
            self?.ask(session, on: loop)
        }
    }
}
