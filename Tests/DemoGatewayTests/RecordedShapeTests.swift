import DemoGateway
import JSONBytes
import TestSupport
import Testing

/// Compares the demo's frames with recorded ones of the same kind: each has all members that every recording has, and
/// no member that no recording has.
struct RecordedShapeTests {
    /// Member paths by kind of frame.
    struct Shapes {
        var all: [String: Set<String>] = [:]
        var always: [String: Set<String>] = [:]

        mutating func add(_ kind: String, _ value: JSONValue) {
            var paths: Set<String> = []
            Self.collect(value, "", &paths)
            all[kind, default: []].formUnion(paths)
            always[kind] = always[kind].map { $0.intersection(paths) } ?? paths
        }

        private static func collect(_ value: JSONValue, _ path: String, _ paths: inout Set<String>) {
            for (name, member) in value.members {
                let here = path.isEmpty ? name : "\(path).\(name)"
                // The content of these members differs between hosts and between tools.
                if ["args", "health", "presence", "features", "session", "sessionInfo", "entry"].contains(name) {
                    paths.insert(here)
                    continue
                }
                paths.insert(here)
                collect(member, here, &paths)
                for element in member.elements { collect(element, here + "[]", &paths) }
            }
        }
    }

    /// Events are compared by name, stream, phase and tool, chat events by state, answers by method.
    static func kind(_ frame: JSONValue, _ methods: [String: String]) -> String? {
        guard let payload = frame["payload"] ?? frame["error"] else { return nil }
        if let event = frame["event"]?.string {
            guard ["agent", "chat", "tick"].contains(event) else {
                return nil
            }
            let state = payload["state"]?.string ?? ""
            let stream = payload["stream"]?.string ?? ""
            let data = payload["data"]
            guard payload["runId"] == nil || payload["sessionKey"] != nil else { return nil }
            let tool = stream == "tool" ? data?["name"]?.string ?? "" : data?["kind"]?.string ?? ""
            let hasMessage = payload["message"] == nil ? "" : "+"
            return "\(event) \(stream) \(data?["phase"]?.string ?? "") \(tool) \(state)\(hasMessage)"
        }
        guard let id = frame["id"]?.string, let method = methods[id] else { return nil }
        return frame["ok"]?.bool == true ? "answer \(method)" : "error \(method)"
    }

    static func recorded(_ release: DemoRelease) throws -> Shapes {
        let root = try #require(try TestData.document("gateway-shapes.json")[release.rawValue])
        var shapes = Shapes()
        for (kind, paths) in root.members {
            let always = paths["always"]?.elements.compactMap(\.string) ?? []
            shapes.always[kind] = Set(always)
            shapes.all[kind] = Set(always + (paths["sometimes"]?.elements.compactMap(\.string) ?? []))
        }
        return shapes
    }

    @Test(arguments: [DemoRelease.march, .april, .june])
    func `frames have the members recorded frames have`(_ release: DemoRelease) throws {
        let recorded = try Self.recorded(release)
        let bench = try GatewayBench(release)
        let client = bench.client(
            device: TestDevice(1),
            id: "cli",
            mode: "cli"
        )
        // The recorded sessions of April had no verbose level.
        let texts = [
            release == .april ? "/help" : "/verbose full", "hello", "weather", "run a failing command", "fail429",
            "fail401", "fail500",
            "please think", "silent",
        ]
        for (number, text) in texts.enumerated() {
            client.chatSend(text, key: "k\(number)")
            bench.run(ms: 300)
        }
        client.chatSend("burst 500 1000", key: "stopped")
        bench.run(ms: 30)
        client.call("chat.abort", "{\"sessionKey\":\"agent:main:main\",\"runId\":\"stopped\"}")
        for method in ["agents.list", "sessions.list", "health"] {
            client.call(method)
        }
        client.call("agents.files.get", "{\"agentId\":\"main\",\"name\":\"IDENTITY.md\"}")
        client.call("chat.history", "{\"sessionKey\":\"main\"}")
        bench.run(ms: 60_000)

        var ours = Shapes()
        var methods = client.methods
        methods["c"] = "connect"
        for frame in client.frames {
            if let kind = Self.kind(frame, methods) { ours.add(kind, frame) }
        }
        var compared = 0
        for (kind, paths) in ours.all.sorted(by: { $0.key < $1.key }) {
            guard let known = recorded.all[kind], let always = recorded.always[kind] else { continue }
            compared += 1
            let invented = paths.subtracting(known).filter { !Self.isAllowed($0) }
            let missing = always.subtracting(ours.all[kind] ?? []).filter { !Self.isAbsent($0) }
            #expect(invented.isEmpty, "\(kind): invented \(invented.sorted())")
            #expect(missing.isEmpty, "\(kind): missing \(missing.sorted())")
        }
        #expect(compared > 20)
    }

    private static func isAllowed(_ path: String) -> Bool { allowed.contains(path) }

    /// This scenario sets a level, its model thinks, and its device connects for the first time.
    private static let allowed = [
        "payload.sessions[].verboseLevel", "payload.messages[].content[].thinking", "payload.auth.deviceToken",
        "payload.auth.issuedAtMs",
    ]

    /// The recorded sessions have labels, and the names of their clients.
    private static func isAbsent(_ path: String) -> Bool {
        [".label", ".displayName"].contains { path.hasSuffix($0) }
    }
}
