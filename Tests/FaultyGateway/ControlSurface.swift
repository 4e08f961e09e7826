import Basics
package import DemoGateway
import HTTPModel
import JSONBytes

/// `/demo/…`: a test's control of the gateway from outside.
package struct ControlSurface {
    package struct Answer {
        package var status: Int
        package var contentType = "application/json"
        package var body: [UInt8]
        package var actions: [DemoAction] = []
        /// Bytes for every connection that belong to no WebSocket frame.
        package var rawBytes: [UInt8] = []
    }

    private let gateway: FaultyGateway
    private let query: [QueryItems.Item]
    private let body: [UInt8]
    private let now: DemoInstant

    package static func answer(
        _ method: String,
        _ target: String,
        body: [UInt8] = [],
        by gateway: FaultyGateway,
        now: DemoInstant
    ) -> Answer {
        let parts = target.split(separator: "?", maxSplits: 1)
        let text = parts.count > 1 ? Array(parts[1].utf8) : []
        guard let path = parts.first, let query = try? QueryItems(parsing: text[...]) else {
            return Answer(status: 400, body: Array("bad target\n".utf8))
        }
        let surface = ControlSurface(gateway: gateway, query: query.items, body: body, now: now)
        return surface.answer(method, String(path))
    }

    private func answer(_ method: String, _ path: String) -> Answer {
        switch (method, path) {
        case ("GET", "/demo/state"): return json(200, state)
        case ("POST", "/demo/faults"): return setFaults()
        case ("DELETE", "/demo/faults"):
            gateway.faults = FaultSettings()
            return json(200, ["cleared": true])
        case ("POST", "/demo/restart"):
            let down = min(max(Int(value("down") ?? "0") ?? 0, 0), 3_600_000)
            let actions = gateway.restart(
                keepsTranscripts: isOn("keep"),
                crashes: isOn("crash"),
                downMs: down,
                now: now
            )
            return json(200, ["restarted": true], actions)
        case ("POST", "/demo/pause"):
            guard let pause = value("phase").flatMap(DemoPause.init) else {
                let phases = DemoPause.allCases.map(\.rawValue).joined(separator: ", ")
                return json(400, ["error": "phase has to be one of \(phases)"])
            }
            return json(200, ["phase": pause.rawValue], gateway.pause(pause, now: now))
        case ("POST", "/demo/drop"): return json(200, ["dropped": true], gateway.dropAll(now: now))
        case ("POST", "/demo/tick"):
            let tick: WireValue = ["ts": gateway.skewed(now).wall.milliseconds]
            return json(200, ["sent": true], gateway.sendToAll(DemoFrame.event("tick", tick)))
        case ("POST", "/demo/garbage"):
            var answer = json(200, ["sent": true])
            if isOn("raw") {
                answer.rawBytes = [0xff, 0xfe, 0x00, 0x81, 0x7f]
            } else {
                answer.actions = gateway.sendToAll(Array((value("text") ?? "]]garbage[[").utf8))
            }
            return answer
        case ("POST", "/demo/oversized"):
            let count = min(max(Int(value("bytes") ?? "27000000") ?? 27_000_000, 1), 64 << 20)
            let padding: WireValue = ["padding": String(repeating: "x", count: count)]
            return json(200, ["sent": true], gateway.sendToAll(DemoFrame.event("demo.padding", padding)))
        case ("GET", "/demo/record"):
            let lines = gateway.recordedLines.map { $0 + [0x0a] }
            return Answer(status: 200, contentType: "application/x-ndjson", body: Array(lines.joined()))
        case ("GET", "/demo/transcripts"): return json(200, gateway.model.transcripts)
        case ("GET", "/demo/nodes"): return json(200, gateway.model.nodeCalls)
        case ("POST", "/demo/nodes"):
            guard gateway.model.setNode(value("name") ?? "", isConnected: isOn("connected")) else {
                return json(404, ["error": "no such node"])
            }
            return json(200, ["changed": true])
        case ("POST", "/demo/say"): return say()
        case ("GET", "/demo/file"), ("PUT", "/demo/file"), ("DELETE", "/demo/file"): return file(method)
        case ("POST", "/demo/pairing/approve"):
            let (isApproved, actions) = gateway.model.approvePairing(value("id"), now: gateway.skewed(now))
            guard isApproved else { return json(404, ["error": "no such pairing request"]) }
            return json(200, ["approved": true], gateway.filtered(actions))
        default: return json(404, ["error": "no such control; try GET /demo/state"])
        }
    }

    private func value(_ name: String) -> String? { query.last { $0.name == name }?.value }

    private func isOn(_ name: String) -> Bool { ["true", "1", "on", "yes", ""].contains(value(name) ?? "false") }

    private func json(_ status: Int, _ body: WireValue, _ actions: [DemoAction] = []) -> Answer {
        Answer(status: status, body: body.bytes + [0x0a], actions: actions)
    }

    private var state: WireValue {
        [
            "protocol": gateway.options.release.protocolVersion, "open": gateway.openConnections.count,
            "activeRuns": gateway.model.activeRuns, "accepted": gateway.recordedLines.count,
            "requests": gateway.requestCount,
            "lastClose": gateway.lastClose.map { close -> WireValue in
                ["code": Int(close.code), "reason": close.reason]
            },
        ]
    }

    /// Sets all faults, or none if one is invalid.
    private func setFaults() -> Answer {
        var pairs = query.map { ($0.name, $0.value) }
        if !body.isEmpty {
            guard let root = try? JSONDocument(parsing: body).root, root.kind == .object else {
                return json(400, ["error": "the body has to be a JSON object of faults"])
            }
            for (name, value) in root.members {
                let texts = value.elements.compactMap(\.string)
                let text = value.string ?? String(decoding: value.raw, as: UTF8.self)
                pairs.append((name, value.kind == .array ? texts.joined(separator: ",") : text))
            }
        }
        var changed = gateway.faults
        do throws(DemoGatewayOptionError) {
            for (name, value) in pairs { try changed.set(name, to: value) }
        } catch {
            return json(400, ["error": error.description])
        }
        gateway.faults = changed
        return json(200, ["set": pairs.count])
    }

    /// Starts a run without a client's request, as a message from another channel does.
    private func say() -> Answer {
        let session = value("session") ?? "main"
        let text = value("text") ?? String(decoding: body, as: UTF8.self)
        guard !text.isEmpty, DemoSessionKey.canonical(session, mainKey: gateway.options.mainKey) != nil else {
            return json(400, ["error": "session and text are needed"])
        }
        guard let run = gateway.model.startRun(text, in: session, now: gateway.skewed(now)) else {
            return json(409, ["error": "the session is busy"])
        }
        return json(200, ["runId": run])
    }

    /// Reads and changes the workspace as an editor on the host would.
    private func file(_ method: String) -> Answer {
        let agent = value("agent") ?? "main"
        let name = value("name") ?? "IDENTITY.md"
        let old = gateway.model.fileContent(name, agent: agent)
        let missing = json(404, ["error": "no such agent or file"])
        switch method {
        case "GET":
            guard let old else { return missing }
            return Answer(status: 200, contentType: "text/markdown; charset=utf-8", body: old)
        default:
            guard method == "PUT" || old != nil else { return missing }
            let isDone = gateway.model.setFile(
                name,
                agent: agent,
                to: method == "PUT" ? body : nil,
                now: gateway.skewed(now)
            )
            return isDone ? json(200, ["changed": name]) : missing
        }
    }
}
