package import EventLoops
import Gateway
import Ledger

/// The gateway's agents. The last list is stored in the database for times without the gateway.
package final class AgentList {
    package typealias List = ShownList<ListedAgent>

    /// No event reports new or removed agents; a configuration seldom changes.
    private static let lifeMs: UInt64 = 30_000
    /// The longest time a message waits to learn whether its agent exists.
    private static let longestLookMilliseconds: Int64 = 2000

    private unowned let gateway: any GatewayCalls
    private let events: ServiceEvents
    private let list: KeptList<ListedAgent>
    /// Agents that the connected gateway has listed.
    private var agents: Set<String> = []
    /// The connected gateway's last answer.
    private var rows: [ListedAgent]?

    init(gateway: any GatewayCalls, feed: EventFeed, events: ServiceEvents) {
        self.gateway = gateway
        self.events = events
        list = KeptList("agents", feed: feed)
    }

    /// - Parameter refresh: whether to ask the gateway, however recent the last answer is.
    package func read(
        refresh: Bool = false,
        on loop: isolated EventLoop,
        completion: @escaping (Result<List, ServiceFault>) -> Void
    ) {
        list.read(
            rows ?? [],
            forMs: Self.lifeMs,
            refresh: refresh,
            over: gateway,
            on: loop,
            ask: { ask(on: loop) },
            completion: completion
        )
    }

    private func ask(on loop: isolated EventLoop) {
        let number = list.ask()
        gateway.call(AgentsList(), on: loop) { [weak self] in self?.answered($0, number, on: loop) }
    }

    private func answered(_ result: Result<AgentsList.Output, CallFailure>, _ number: Int, on loop: isolated EventLoop)
    {
        guard list.isLast(number) else { return }
        switch result {
        case .success(let output):
            let rows = output.agents.map { ListedAgent($0, of: output) }
            self.rows = rows
            agents = Set(rows.map { $0.id.lowercased() })
            _ = list.listed(on: loop)
            events.changed()
            list.keep(rows, now: loop.wallClock)
            list.answer(rows)
        case .failure(.gateway(let error, let payload)):
            list.failed(GatewayFault(.gateway(error, payload: payload), over: gateway), on: loop)
        case .failure: list.failed(.unanswered, on: loop)
        }
    }

    /// The agents' ids as last listed, at once where there is a list; the gateway is asked meanwhile if that is old.
    package func known(on loop: isolated EventLoop) async -> [String] {
        if let rows, gateway.isOnline {
            if !list.isFresh(forMs: Self.lifeMs, on: loop) { read(on: loop) { _ in } }
            return rows.map(\.id)
        }
        switch await loop.wait(for: { read(on: loop, completion: $0) }) {
        case .success(let list): return list.rows.map(\.id)
        case .failure: return []
        }
    }

    /// Drops the answer: a gateway reads its configuration again when it starts.
    func linkOpened(on loop: isolated EventLoop) {
        agents = []
        rows = nil
        if list.restart() { ask(on: loop) }
    }

    /// Asks the gateway only about an agent it has not listed yet.
    /// - Parameters:
    ///   - agent: the lower-case name used in session keys.
    ///   - completion: gets the existing agents if this one is not among them; nil if it exists or the gateway cannot
    ///     be asked.
    package func missing(
        _ agent: String,
        on loop: isolated EventLoop,
        completion: @escaping ([String]?) -> Void
    ) {
        guard gateway.isOnline, gateway.profile?.refusesUnlistedAgents == true, !agents.contains(agent) else {
            return completion(nil)
        }
        var isOpen = true
        let settle = { (known: [String]?) in
            guard isOpen else { return }
            isOpen = false
            completion(known)
        }
        let timer = loop.after(milliseconds: Self.longestLookMilliseconds) { settle(nil) }
        read(refresh: true, on: loop) { result in
            loop.cancel(timer)
            guard case .success(let list) = result, list.isLive, !list.rows.isEmpty else { return settle(nil) }
            let known = list.rows.map(\.id)
            settle(known.contains { $0.lowercased() == agent } ? nil : known)
        }
    }
}
