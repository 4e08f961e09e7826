import DemoGateway
import JSONBytes

/// Plays the steps of a recorded client against the demo in the shape of its release, and describes the received frames
/// in words.
final class ShapePlayer {
    private static let session = "agent:main:recorded"

    let bench: GatewayBench
    private var client: TestClient
    private var place = 0
    private(set) var words: [String] = []
    /// The gateway's own run ids, in the order of their appearance.
    private var names: [String: String] = [:]
    private var showing: Set<String> = []
    private var lastLook: [String: String] = [:]
    private var sends: [String: Int64] = [:]
    private var ends: [String: Int64] = [:]
    /// The origin of the recorded times.
    private var origin: Int64

    /// - Parameter release: a version.
    init(_ release: String) throws {
        bench = try GatewayBench(faults: [:]) {
            $0.speed = 1
            try? $0.set("release", to: release)
        }
        client = bench.openSocket()
        origin = bench.wallMs
    }

    func play(_ step: JSONValue) throws {
        if let time = step["at"]?.int {
            run(until: origin + time)
        } else if let key = step["afterSend"]?.string, let distance = step["ms"]?.int {
            run(until: (sends[key] ?? 0) + distance)
        } else if let run = step["after"]?.string, let distance = step["ms"]?.int {
            for _ in 0..<120_000 where ends[run] == nil { advance(ms: 1) }
            if let end = ends[run] { self.run(until: end + distance) }
        }
        if step["mark"] != nil {
            words = []
            showing = []
            if step["after"] == nil { ends = [:] }
            origin = bench.wallMs
        } else if step["connect"] != nil {
            client = bench.client()
            place = client.frames.count
            if bench.options.release != .march { client.call("sessions.subscribe") }
        } else if let key = step["send"]?.string {
            sends[key] = bench.wallMs
            client.chatSend(step["text"]?.string ?? "", key: key, session: Self.session)
        } else if step["look"] != nil {
            client.call("chat.history", "{\"sessionKey\":\"\(Self.session)\",\"limit\":50}")
            client.call("sessions.list", "{\"limit\":20}")
        } else if let key = step["abort"]?.string {
            client.call("chat.abort", "{\"sessionKey\":\"\(Self.session)\",\"runId\":\"\(key)\"}")
        } else if let down = step["kill"]?.int ?? step["stop"]?.int {
            let crash = step["kill"] != nil
            try bench.control("POST", "/demo/restart?keep=true&crash=\(crash)&down=\(down)")
            read()
            advance(ms: down)
        }
        read()
    }

    func finish() { advance(ms: 20_000) }

    private func run(until moment: Int64) { if moment > bench.wallMs { advance(ms: moment - bench.wallMs) } }

    private func advance(ms: Int64) {
        bench.run(ms: ms)
        read()
    }

    // MARK: - Words

    private func read() {
        let frames = client.frames
        for frame in frames[place...] {
            if let word = word(for: frame), word != words.last { words.append(word) }
        }
        place = frames.count
    }

    private func name(_ run: String?) -> String {
        guard let run, run.count > 10 else { return run ?? "-" }
        if names[run] == nil { names[run] = "own\(names.count + 1)" }
        return names[run] ?? run
    }

    private func word(for frame: JSONValue) -> String? {
        let payload = frame["payload"]
        if frame["type"]?.string == "res" { return word(forAnswer: frame, payload) }
        let run = name(payload?["runId"]?.string)
        switch frame["event"]?.string {
        case "agent":
            let phase = payload?["data"]?["phase"]?.string ?? ""
            switch payload?["stream"]?.string {
            case "assistant": return text(of: run)
            case "lifecycle": return "lifecycle \(run) \(phase)"
            case "tool":
                showing.remove(run)
                return "tool \(run) \(phase)"
            case "error": return "seq gap \(run)"
            default: return nil
            }
        case "chat":
            let state = payload?["state"]?.string ?? ""
            if state == "delta" { return text(of: run) }
            let isEmpty = payload?["message"] == nil
            ends[run] = bench.wallMs
            return "\(state) \(run)\(isEmpty ? " empty" : "")"
        case "session.message":
            let role = payload?["message"]?["role"]?.string ?? ""
            return "message \(role)\(payload?["messageId"] == nil ? " without id" : "")"
        case "sessions.changed":
            let change = payload?["phase"]?.string ?? payload?["reason"]?.string ?? ""
            guard change != "message" else { return nil }
            return "changed \(change)\(payload?["runId"] == nil ? "" : " \(run)")"
        case "shutdown": return "shutdown"
        default: return nil
        }
    }

    private func text(of run: String) -> String? { showing.insert(run).inserted ? "text \(run)" : nil }

    private func word(forAnswer frame: JSONValue, _ payload: JSONValue?) -> String? {
        guard let id = frame["id"]?.string, let method = client.methods[id] else { return nil }
        if let error = frame["error"] {
            return "\(method) \(error["code"]?.string ?? "")\(error["retryable"]?.bool == true ? " retryable" : "")"
        }
        switch method {
        case "chat.send":
            return "ack \(name(payload?["runId"]?.string)) \(payload?["status"]?.string ?? "")"
        case "chat.abort": return "abort \(payload?["aborted"]?.bool == true)"
        case "chat.history":
            let rows = payload?["messages"]?.elements.map(Self.row) ?? []
            return look("history: " + rows.joined(separator: ", "), at: method)
        case "sessions.list":
            let row = payload?["sessions"]?.elements.first { $0["key"]?.string == Self.session }
            guard let row else { return look("row: none", at: method) }
            let states = [
                row["status"]?.string ?? "-", row["hasActiveRun"]?.bool == true ? "active" : nil,
                row["abortedLastRun"]?.bool == true ? "aborted" : nil,
            ]
            return look("row: " + states.compactMap(\.self).joined(separator: " "), at: method)
        default: return nil
        }
    }

    /// A look that shows nothing new adds no word.
    private func look(_ word: String, at method: String) -> String? {
        defer { lastLook[method] = word }
        return lastLook[method] == word ? nil : word
    }

    private static func row(_ row: JSONValue) -> String {
        var word = row["role"]?.string ?? ""
        let isUser = word == "user"
        if let reason = row["stopReason"]?.string, word == "assistant", reason != "stop" { word += "/\(reason)" }
        if row["openclawAbort"] != nil { word += "/partial" }
        return word + (isUser && row["idempotencyKey"] != nil ? " key" : "")
    }
}
