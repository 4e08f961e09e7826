import Basics
import Gateway
import JSONBytes
import Labels
import Ledger
import TestSupport

@testable import Runs

/// A recorded connection: what was sent and what the gateway sent.
struct Capture {
    enum Entry {
        case sent(id: String, session: String, text: String)
        case aborted(id: String)
        case event(GatewayEventPayload)
        case history(session: String, ChatHistory.Output)

        static func page(_ session: String, _ payload: JSONValue) -> Entry {
            .history(session: session, ChatHistory.Output(payload))
        }

        static func named(_ event: String, _ payload: JSONValue) -> Entry {
            .event(GatewayEventPayload(event: event, payload))
        }
    }

    var entries: [(at: Int64, entry: Entry)] = []
    let profile: GatewayProfile

    init(named name: String) throws {
        profile = GatewayProfile(name.contains("v2026.3") ? .march : name.contains("v2026.4") ? .april : .june)
        var sessions: [String: String] = [:]
        var sends: [String: String] = [:]
        for root in try TestData.capture(name) {
            guard let frame = root["frame"] else { continue }
            let at = root["t"]?.int ?? 0
            let id = frame["id"]?.string ?? ""
            let parameters = frame["params"]
            if root["dir"]?.string == "out" {
                sessions[id] = parameters?["sessionKey"]?.string
                if let method = frame["method"]?.string, method == "chat.send" || method == "agent",
                    let key = parameters?["idempotencyKey"]?.string
                {
                    sends[id] = key
                    let text = parameters?["message"]?.string ?? ""
                    entries.append((at, .sent(id: key, session: sessions[id] ?? "main", text: text)))
                }
            } else if let name = frame["event"]?.string, let payload = frame["payload"] {
                entries.append((at, .event(GatewayEventPayload(event: name, payload))))
            } else if let payload = frame["payload"], payload["messages"] != nil, let session = sessions[id] {
                entries.append((at, .history(session: session, ChatHistory.Output(payload))))
            } else if let key = sends[id], frame["payload"]?["aborted"] != nil || frame["ok"]?.bool == false {
                entries.append((at, .aborted(id: key)))
            }
        }
    }

    /// All of it through one tracker; time stands still but for the entries' own.
    func replay(labels: LabelTable = .extended) -> Replay {
        var replay = Replay(labels: labels, profile: profile)
        for (at, entry) in entries { replay.take(entry, at: at) }
        replay.finish()
        return replay
    }
}

struct Replay {
    var tracker: RunTracker
    var changes: [RunChange] = []
    /// The texts of a client that follows the changes.
    var texts: [String: [UInt16]] = [:]
    var steps: [String: Step] = [:]
    var started: [String] = []
    var ended: [String: Run] = [:]
    private var now = Timestamp(milliseconds: 1_795_183_000_000)

    init(labels: LabelTable = .extended, profile: GatewayProfile = GatewayProfile(.june)) {
        tracker = RunTracker(labels: labels)
        tracker.profile = profile
    }

    mutating func take(_ entry: Capture.Entry, at: Int64) {
        now = Timestamp(milliseconds: 1_795_183_000_000 + at)
        // A recorder asks for pages at times of its own; Ladle asks before it lets a run of the oldest release end.
        if tracker.profile.sendsRows { follow(tracker.tick(now: now)) }
        switch entry {
        case .sent(let id, let session, let text):
            tracker.sent(id, session: tracker.defaults.tolerant(session), text: text, now: now)
        case .aborted(let id): tracker.sendFailed(id)
        case .event(let event): follow(tracker.receive(event, now: now))
        case .history(let session, let page):
            follow(tracker.receive(page, session: tracker.defaults.tolerant(session), askedAt: now, now: now))
        }
    }

    mutating func finish() {
        follow(tracker.tick(now: now.adding(milliseconds: 120_000)))
    }

    private mutating func follow(_ new: [RunChange]) {
        changes += new
        for change in new {
            switch change {
            case .started(let run): started.append(run.id)
            case .stepChanged(let step): steps[step.id] = step
            case .textAppended(let run, let offset, let text):
                precondition(offset == texts[run, default: []].count, "a piece must follow what was told")
                texts[run, default: []] += Array(text.utf16)
            case .textReplaced(let run, let text): texts[run] = Array(text.utf16)
            case .ended(let run), .corrected(let run): ended[run.id] = run
            case .deferred, .waits, .putAside, .reassigned, .separated, .proven, .joined, .dropped, .refused, .taken:
                break
            }
        }
    }

    func run(_ prefix: String) -> Run? { tracker.runs().first { $0.id.hasPrefix(prefix) } }

    func text(_ id: String) -> String { String(decoding: texts[id, default: []], as: UTF16.self) }
}
