package import Basics
package import EventLoops
import Gateway
import JSONBytes
import Store

/// The gateway's agents. The last list is stored in the database for times without the gateway.
package final class GatewayLists {
    package struct Row {
        /// The agent's id.
        package let key: String
        package let json: [UInt8]
    }

    package struct List {
        package let rows: [Row]
        /// False for an earlier answer, because the gateway is away.
        package let isLive: Bool
        /// The time of the gateway's answer; nil if it never gave one.
        package let asOf: Timestamp?
    }

    /// No event reports new or removed agents; a configuration seldom changes.
    private static let lifeMs: UInt64 = 30_000
    /// The longest time a message waits to learn whether its agent exists.
    private static let longestLookMilliseconds: Int64 = 2000
    private static let space = "gateway"

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    /// Agents that the connected gateway has listed.
    private var agents: Set<String> = []
    /// Lists as last written to the database.
    private var kept: [String: [UInt8]] = [:]

    /// The connected gateway's last answer, with its time on the loop's clock.
    private var fresh: (rows: [Row], at: UInt64)?

    init(gateway: any GatewayCalls, feed: EventFeed, events: ServiceEvents) {
        self.gateway = gateway
        self.feed = feed
        self.events = events
    }

    /// - Parameter refresh: whether to ask the gateway, however recent the last answer is.
    package func readAgents(
        refresh: Bool = false,
        on loop: isolated EventLoop,
        completion: @escaping (Result<List, ServiceFault>) -> Void
    ) {
        if !refresh, gateway.isOnline, let fresh, loop.now < fresh.at + Self.lifeMs * 1_000_000 {
            return completion(.success(List(rows: fresh.rows, isLive: true, asOf: nil)))
        }
        read(AgentsList(), name: "agents", keyedBy: "id", on: loop, completion: completion) { [self] output in
            agents = Set(output.agents.map { $0.id.lowercased() })
            return output.agents.map { agent in
                var writer = JSONWriter()
                writer.object { object in
                    object.member("id", agent.id)
                    object.member("name", agent.name)
                    object.member("emoji", agent.emoji)
                    object.member("avatar", agent.avatar)
                    object.member("default", agent.id == output.defaultId)
                    object.member("session", "agent:\(agent.id):\(output.mainKey ?? "main")")
                }
                return Row(key: agent.id, json: writer.bytes)
            }
        }
    }

    /// Drops the answer: a gateway reads its configuration again when it starts.
    func linkOpened() {
        agents = []
        fresh = nil
    }

    /// Gateways of earlier protocols accept messages for unlisted agents.
    private static let firstProtocolThatRefuses = 4

    /// Asks the gateway only about an agent it has not listed yet.
    /// - Parameters:
    ///   - agent: the lower-case name used in session keys.
    ///   - completion: gets the existing agents if this one is not among them; nil if it exists or the gateway cannot
    ///     be asked.
    package func missing(
        agent: String,
        on loop: isolated EventLoop,
        completion: @escaping ([String]?) -> Void
    ) {
        guard gateway.isOnline, (gateway.hello?.protocolVersion ?? 0) >= Self.firstProtocolThatRefuses,
            !agents.contains(agent)
        else { return completion(nil) }
        var isOpen = true
        let settle = { (known: [String]?) in
            guard isOpen else { return }
            isOpen = false
            completion(known)
        }
        let timer = loop.after(milliseconds: Self.longestLookMilliseconds) { settle(nil) }
        readAgents(refresh: true, on: loop) { result in
            loop.cancel(timer)
            guard case .success(let list) = result, list.isLive, !list.rows.isEmpty else { return settle(nil) }
            let known = list.rows.map(\.key)
            settle(known.contains { $0.lowercased() == agent } ? nil : known)
        }
    }

    private func read<Call: GatewayCall>(
        _ call: Call,
        name: String,
        keyedBy key: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<List, ServiceFault>) -> Void,
        rows: @escaping (Call.Output) -> [Row]
    ) {
        guard gateway.isOnline else { return readKept(name, keyedBy: key, on: loop, completion: completion) }
        gateway.call(call, on: loop) { [self] result in
            switch result {
            case .success(let output):
                let rows = rows(output)
                fresh = (rows, loop.now)
                events.changed()
                keep(rows, name, now: loop.wallClock)
                completion(.success(List(rows: rows, isLive: true, asOf: nil)))
            case .failure(.gateway(let error, let payload)):
                let fault = GatewayFault(.gateway(error, payload: payload), over: gateway)
                completion(.failure(.gateway(fault)))
            case .failure: readKept(name, keyedBy: key, on: loop, completion: completion)
            }
        }
    }

    private func keep(_ rows: [Row], _ name: String, now: Timestamp) {
        var writer = JSONWriter()
        writer.array { list in
            for row in rows { list.raw(row.json) }
        }
        let bytes = writer.bytes
        guard kept[name] != bytes else { return }
        kept[name] = bytes
        feed.journal.cache(cost: bytes.count) { transaction in
            try transaction.values.set(bytes, space: Self.space, name: name, at: now)
        }
    }

    private func readKept(
        _ name: String,
        keyedBy key: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<List, ServiceFault>) -> Void
    ) {
        feed.read(on: loop) { tables in
            try tables.values.get(space: Self.space, name: name)
        } completion: { result in
            switch result {
            case .success(let kept):
                let list = kept.flatMap { try? JSONDocument(parsing: $0.bytes).root }
                let rows = (list?.elements).map { elements in
                    elements.compactMap { item in
                        item[key]?.string.map { Row(key: $0, json: Array(item.raw)) }
                    }
                }
                completion(.success(List(rows: rows ?? [], isLive: false, asOf: kept?.updatedAt)))
            case .failure(let error): completion(.failure(.store(error)))
            }
        }
    }
}
