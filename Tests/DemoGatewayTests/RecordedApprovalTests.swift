import DemoGateway
import JSONBytes
import TestSupport
import Testing

/// The demo's approvals compared with recorded ones: the same calls bring the same frames, with the same members in the
/// same order.
struct RecordedApprovalTests {
    struct Recording: Sendable, CustomTestStringConvertible {
        let path: String
        let release: String

        var testDescription: String { path }
    }

    static let recordings: [Recording] = {
        let flows = ["captures-approvals", "captures"].flatMap { folder in
            TestData.recordings(folder).map { "\(folder)/\($0)" }
        }
        return flows.filter { $0.hasPrefix("captures-approvals/") || $0.contains("/exec-approval.") }.map {
            Recording(path: $0, release: $0.split(separator: ".v").last.map(String.init) ?? "")
        }
    }()

    @Test
    func `approvals are recorded`() { #expect(Self.recordings.count > 9) }

    @Test(arguments: recordings)
    func `a recorded client gets the same`(_ recording: Recording) throws {
        let lines = try TestData.bytes("\(recording.path).jsonl").split(separator: UInt8(ascii: "\n")).map {
            try JSONDocument(parsing: Array($0), limits: .gateway).root
        }
        // One of them has a message whose run its gateway could not start.
        let refused = lines.lazy.compactMap { $0["frame"]?["payload"] }.first {
            $0["errorMessage"]?.string?.contains("conflicted") == true
        }?["runId"]?.string
        let requested = lines.first { $0["frame"]?["event"]?.string == "exec.approval.requested" }
        let command = requested?["frame"]?["payload"]?["request"]?["command"]?.string
        // The demo's weather is the one in the older recordings; the other commands were given to a scripted model.
        let player = try ApprovalPlayer(recording.release, text: recording.path.hasPrefix("captures/") ? nil : command)
        var recorded = ApprovalStory()
        for line in lines {
            guard let frame = line["frame"], let time = line["t"]?.int else { continue }
            let run = frame["params"]?["idempotencyKey"] ?? frame["payload"]?["runId"]
            if let run = run?.string, run == refused { continue }
            switch line["dir"]?.string {
            case "out": if player.plays(frame, at: time) { recorded.note(frame, id: frame["id"]?.string ?? "") }
            case "in":
                recorded.take(frame)
                player.arrived(frame, at: time)
            default: break
            }
        }
        let played = player.finish()
        #expect(played.answers == recorded.answers, "\(played.answers.difference(from: recorded.answers))")
        #expect(played.events == recorded.events, "\(played.events.difference(from: recorded.events))")
        #expect(!played.answers.isEmpty)
    }
}

/// The frames of one connection as texts, without parts that differ between runs: ids, times, outputs of the model.
struct ApprovalStory {
    private(set) var answers: [String] = []
    private(set) var events: [String] = []
    private var methods: [String: String] = [:]
    /// The first runs set policies by a command; their frames are not compared.
    private var runs: Set<String> = []

    mutating func note(_ call: JSONValue, id: String) {
        guard let method = call["method"]?.string else { return }
        methods[id] = method
        guard method == "chat.send", call["params"]?["message"]?.string?.hasPrefix("/") == false else { return }
        if let run = call["params"]?["idempotencyKey"]?.string { runs.insert(run) }
    }

    mutating func take(_ frame: JSONValue) {
        if frame["type"]?.string == "res" {
            guard let id = frame["id"]?.string, let method = methods[id], method.contains("approval") else { return }
            answers.append("\(method) \(Self.text(frame["payload"] ?? frame["error"]))")
            return
        }
        guard let event = frame["event"]?.string, let payload = frame["payload"] else { return }
        if event.hasPrefix("exec.approval.") {
            let life = (payload["expiresAtMs"]?.int ?? 0) - (payload["createdAtMs"]?.int ?? 0)
            events.append("\(event)\(frame["seq"] == nil ? "" : " counted") \(life) \(Self.text(payload))")
        }
        guard let run = payload["runId"]?.string, runs.contains(run), let data = payload["data"] ?? payload["state"]
        else { return }
        let stream = payload["stream"]?.string ?? ""
        switch (event, stream) {
        case ("agent", "lifecycle"): events.append("lifecycle \(data["phase"]?.string ?? "")")
        case ("agent", "approval"): events.append("approval \(Self.text(data))")
        case ("agent", "tool"), ("agent", "item"), ("agent", "command_output"):
            events.append("\(stream) \(Self.members(data).sorted().joined(separator: ","))")
        case ("chat", _) where data.string != "delta": events.append("chat \(data.string ?? "")")
        default: break
        }
    }

    /// The paths of an object's members, and the values that clients depend on.
    private static func members(_ value: JSONValue, _ path: String = "") -> [String] {
        value.members.flatMap { name, member in
            if ["phase", "kind", "status", "isError"].contains(name) { return ["\(path)\(name)=\(Self.text(member))"] }
            // The time and output of a command differ from the recording.
            return ["\(path)\(name)"] + members(member, "\(path)\(name).")
        }
    }

    private static let varying: Set<String> = [
        "ts", "createdAtMs", "expiresAtMs", "id", "itemId", "toolCallId", "sessionKey", "resolvedBy",
    ]

    private static func text(_ value: JSONValue?, named name: String = "") -> String {
        guard let value else { return "-" }
        if varying.contains(name), value.kind != .object { return "*" }
        switch value.kind {
        case .object:
            return "{\(value.members.map { "\($0.key):\(text($0.value, named: $0.key))" }.joined(separator: ","))}"
        case .array: return "[\(value.elements.map { text($0) }.joined(separator: ","))]"
        default: return String(decoding: value.raw, as: UTF8.self)
        }
    }
}

/// Plays the calls of a recording against the demo: messages one after the other, decisions as long after the request
/// as in the recording.
private final class ApprovalPlayer {
    private let bench: GatewayBench
    private let client: TestClient
    private var story = ApprovalStory()
    private var place = 0
    /// The last request, on the clocks of the recording and of the demo, and its id in the demo.
    private var asked: (recorded: Int64, played: Int64, id: String)?

    /// The command that every message requests; nil to send the message unchanged.
    private let command: String?

    init(_ release: String, text command: String?) throws {
        self.command = command
        bench = try GatewayBench(faults: [:]) {
            $0.speed = 1
            try? $0.set("release", to: release)
        }
        client = bench.client()
        place = client.frames.count
    }

    /// False for calls that the demo does not support.
    func plays(_ call: JSONValue, at time: Int64) -> Bool {
        guard let method = call["method"]?.string, !method.hasSuffix("waitDecision"),
            method == "chat.send" || method == "chat.abort" || method.contains(".approval.")
        else { return false }
        // Frames of one moment come before the calls of the next.
        if let asked { bench.run(ms: max(0, asked.played + time - asked.recorded + 5 - bench.wallMs)) }
        if method == "chat.send" {
            bench.run(ms: 10_000)
            asked = nil
        }
        read()
        client.call(method, params(of: call))
        story.note(call, id: "r\(client.methods.count)")
        read()
        return true
    }

    private func params(of call: JSONValue) -> String {
        guard let params = call["params"], case .object(var members) = WireValue(params) else { return "{}" }
        for (place, member) in members.enumerated() {
            guard case .string(let text) = member.value else { continue }
            switch member.name {
            case "message" where !text.hasPrefix("/"):
                members[place].value = .string(command.map { "approve \($0)" } ?? text)
            case "id" where asked != nil: members[place].value = .string(asked?.id ?? "")
            default: break
            }
        }
        return String(decoding: WireValue.object(members).bytes, as: UTF8.self)
    }

    /// Waits for a recorded request.
    func arrived(_ frame: JSONValue, at time: Int64) {
        guard frame["event"]?.string == "exec.approval.requested" else { return }
        func newest() -> String? { client.payloads("exec.approval.requested").last?["id"]?.string }
        for _ in 0..<20_000 where newest() == nil || newest() == last { bench.run(ms: 1) }
        last = newest()
        asked = (time, bench.wallMs, last ?? "")
    }
    private var last: String?

    func finish() -> ApprovalStory {
        bench.run(ms: 20_000)
        read()
        return story
    }

    private func read() {
        let frames = client.frames
        for frame in frames[place...] { story.take(frame) }
        place = frames.count
    }
}
