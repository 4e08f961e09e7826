import Access
import Server

/// Open exchanges of callers identified by tailscaled.
struct TailnetVisitors {
    private var open: [ObjectIdentifier: (exchange: Exchange, caller: TailnetCaller)] = [:]

    var isEmpty: Bool { open.isEmpty }

    mutating func add(_ exchange: Exchange, _ caller: TailnetCaller) {
        open[ObjectIdentifier(exchange)] = (exchange, caller)
    }

    mutating func remove(_ exchange: Exchange) {
        open[ObjectIdentifier(exchange)] = nil
    }

    /// The questions for tailscaled, each with its exchanges.
    func questions() -> [WhoisQuestion: [(Exchange, TailnetCaller)]] {
        var questions: [WhoisQuestion: [(Exchange, TailnetCaller)]] = [:]
        for (exchange, caller) in open.values {
            guard let question = caller.question else { continue }
            questions[question, default: []].append((exchange, caller))
        }
        return questions
    }
}
