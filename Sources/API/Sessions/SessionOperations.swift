import Access
import Basics
import EventLoops
import Gateway
import HTTPModel
import JSONBytes
import Runs
import Server
import Service
import Store
import Upstream

/// `GET /v1/sessions` and `GET /v1/agents`: what one can write to and subscribe to. The last answers are kept for when
/// the gateway is away.
enum SessionOperations {
    private static let space = "gateway"
    private static let mostSessions = 1000

    static func sessions(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let limit: Int
        do throws(Problem) {
            limit = try call.number("limit", in: 1...mostSessions, default: 200)
        } catch {
            return call.fail(error, on: loop)
        }
        // Whatever part of them is wanted: all are kept, and a caller may be bound to the last.
        let list = SessionsList(limit: mostSessions, includeDerivedTitles: true, includeLastMessage: true)
        ask(api, call, list, name: "sessions", limit: limit, on: loop) { rows in
            let found = rows.map { SessionInfo($0.whole, key: api.runs.defaults.tolerant($0.key)) }
            api.sessions.note(found)
            let active = Set(api.runs.runs(activeOnly: true).map(\.session.text))
            return found.map { info in
                var writer = JSONWriter()
                info.write(to: &writer, isActive: active.contains(info.key))
                return writer.bytes
            }
        }
    }

    static func agents(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        ask(api, call, AgentsList(), name: "agents", limit: .max, on: loop) { output in
            output.agents.map { agent in
                var writer = JSONWriter()
                writer.object { object in
                    object.member("id", agent.id)
                    object.member("name", agent.name)
                    object.member("emoji", agent.emoji)
                    object.member("avatar", agent.avatar)
                    object.member("default", agent.id == output.defaultId)
                    object.member("session", "agent:\(agent.id):\(output.mainKey ?? "main")")
                }
                return writer.bytes
            }
        }
    }

    // MARK: Live or kept

    private static func ask<Question: GatewayCall>(
        _ api: HTTPAPI,
        _ call: Call,
        _ question: Question,
        name: String,
        limit: Int,
        on loop: isolated EventLoop,
        items: @escaping (Question.Output) -> [[UInt8]]
    ) {
        guard api.link.isOnline else { return answerKept(api, call, name, limit, on: loop) }
        api.link.call(question, on: loop) { result in
            switch result {
            case .success(let output):
                let items = items(output)
                keep(items, name, api, now: loop.wallClock)
                respond(call, name, items, limit, asOf: nil, on: loop)
            case .failure(.gateway(let error, let payload)):
                call.fail(Problem(.gateway(error, payload: payload), for: "list \(name)", over: api.link), on: loop)
            case .failure: answerKept(api, call, name, limit, on: loop)
            }
        }
    }

    private static func keep(_ items: [[UInt8]], _ name: String, _ api: HTTPAPI, now: Timestamp) {
        var writer = JSONWriter()
        writer.array { list in
            for item in items { list.raw(item) }
        }
        let bytes = writer.bytes
        guard api.keptLists[name] != bytes else { return }
        api.keptLists[name] = bytes
        api.feed.journal.cache(cost: bytes.count) { transaction in
            try transaction.values.set(bytes, space: space, name: name, at: now)
        }
    }

    private static func answerKept(
        _ api: HTTPAPI,
        _ call: Call,
        _ name: String,
        _ limit: Int,
        on loop: isolated EventLoop
    ) {
        let bound = LoopBound((api, call), on: loop)
        api.feed.journal.read { tables in
            try tables.values.get(space: space, name: name)
        } completion: { [weak loop] result in
            loop?.post { loop in
                guard let (api, call) = bound.value(on: loop) else { return }
                switch result {
                case .success(let kept):
                    let list = kept.flatMap { try? JSONDocument(parsing: $0.bytes).root }
                    let items = list.map { $0.elements.map { Array($0.raw) } } ?? []
                    respond(call, name, items, limit, asOf: kept?.updatedAt ?? api.startedAt, on: loop)
                case .failure(let error): call.fail(.storage(error), on: loop)
                }
            }
        }
    }

    /// A caller bound to sessions sees those, and of the agents those that hold them.
    private static func mayShow(_ item: [UInt8], _ name: String, to caller: Caller) -> Bool {
        guard caller.sessions != nil else { return true }
        guard let value = try? JSONDocument(parsing: item).root else { return false }
        if name == "sessions" { return caller.mayUse(session: value["key"]?.string) }
        return value["id"]?.string.map(caller.mayUse(agent:)) ?? false
    }

    private static func respond(
        _ call: Call,
        _ name: String,
        _ items: [[UInt8]],
        _ limit: Int,
        asOf: Timestamp?,
        on loop: isolated EventLoop
    ) {
        call.respondTagged(
            .json { writer in
                writer.object { object in
                    object.array(name) { list in
                        let shown = items.lazy.filter { mayShow($0, name, to: call.caller) }
                        for item in shown.prefix(limit) { list.raw(item) }
                    }
                    object.member("live", asOf == nil)
                    object.member("asOf", asOf)
                }
            },
            on: loop
        )
    }
}
