import JSONBytes

/// The demo gateway's nodes: a phone whose app is in the background until a notification makes its user look, and a
/// Mac. Each example command shows one effect, so that every refusal of a gateway can be tried.
final class DemoNodes {
    private struct Device {
        let id: String
        let name: String
        let platform: String
        let model: String
        let capabilities: [String]
        let commands: [String]
        /// Declared commands that the gateway's allowlist for this platform lacks.
        let withheld: [String]
        let permissions: [(String, Bool)]
        let connectedAt: Int64
        var isConnected = true
    }

    /// A command that reached a node.
    struct Call {
        let node: String
        let command: String
        let key: String
        let params: WireValue
    }

    private static let phone = "0d6f2b1c-8a3e-4c57-9b12-5e7a9c0d1f23"
    private static let mac = "1e7a3c2d-9b4f-4d68-8c23-6f8bad1e2034"
    /// The time for which a person looks at the phone after a notification.
    private static let attentionMs: Int64 = 60_000
    private static let mostCalls = 1_000
    /// A picture of one pixel.
    private static let picture =
        "/9j/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/yQALCAABAAEBAREA/8wA"
        + "BgAQEAX/2gAIAQEAAD8A0s8g/9k="
    /// The header of a clip.
    private static let clip = "AAAAGGZ0eXBpc29tAAACAGlzb21tcDQy"

    private let host: DemoHost
    private var devices: [Device]
    private var inFrontUntil: Int64 = 0
    private var queuedCount = 0
    /// The calls, newest last.
    private(set) var calls: [Call] = []

    private var release: DemoRelease { host.release }
    private var clock: DemoClock { host.clock }

    init(_ host: DemoHost) {
        self.host = host
        let now = host.clock.wallMs
        devices = [
            Device(
                id: Self.phone,
                name: "Ann's phone",
                platform: "ios",
                model: "iPhone16,2",
                capabilities: ["calendar", "camera", "canvas", "contacts", "device", "location", "photos", "system"],
                commands: [
                    "calendar.events", "camera.list", "camera.snap", "canvas.navigate", "canvas.present",
                    "contacts.search", "device.info", "device.status", "location.get", "photos.latest",
                    "reminders.list", "system.notify",
                ],
                withheld: ["sms.send"],
                permissions: [("camera", true), ("contacts", false), ("location", true)],
                connectedAt: now - 3_600_000
            ),
            Device(
                id: Self.mac,
                name: "Studio Mac",
                platform: "macos",
                model: "Mac15,3",
                capabilities: ["camera", "canvas", "screen", "system"],
                commands: [
                    "camera.clip", "camera.list", "camera.snap", "canvas.hide", "canvas.navigate", "canvas.present",
                    "canvas.snapshot", "location.get", "screen.record", "system.notify", "system.run",
                ],
                withheld: ["computer.act"],
                permissions: [("camera", true), ("screenRecording", true)],
                connectedAt: now - 86_400_000
            ),
        ]
    }

    // MARK: - Lists

    func list() -> DemoReply { .ok(["ts": clock.wallMs, "nodes": devices.map(row)]) }

    func describe(_ request: DemoRequest) -> DemoReply {
        guard let device = devices.first(where: { $0.id == request.string("nodeId") }) else {
            return .invalid("unknown nodeId")
        }
        return .ok(wireObject(["ts": clock.wallMs]).adding(row(of: device)))
    }

    private func row(of device: Device) -> WireValue {
        // The March release forgets a node's declarations while the node is away.
        let isKnown = device.isConnected || release > .march
        let permissions = device.permissions.map { WireValue.Member(name: $0.0, value: .bool($0.1)) }
        let basics: WireValue = [
            "nodeId": device.id, "displayName": device.name, "platform": device.platform, "version": "2026.6.1",
            "deviceFamily": device.platform == "ios" ? "iPhone" : "Mac", "modelIdentifier": device.model,
            "remoteIp": "192.168.77.9", "pathEnv": "/home/demo/bin:/usr/bin",
            "caps": isKnown ? device.capabilities : [], "commands": isKnown ? device.commands : [],
            "permissions": WireValue.object(permissions), "paired": true, "connected": device.isConnected,
        ]
        let later: WireValue = [
            "connectedAtMs": device.isConnected ? device.connectedAt : nil,
            "approvalState": release >= .june ? "approved" : nil,
            "lastSeenAtMs": release >= .june ? device.connectedAt : nil,
            "invocableCommands": release >= .autumn ? device.commands.filter { $0 != "camera.clip" } : nil,
        ]
        return basics.adding(later)
    }

    // MARK: - Devices that wait for the operator

    /// A tablet that waits as long as the demo runs; a real gateway would drop its request after five minutes.
    var pending: [WireValue] {
        [
            [
                "requestId": "9b0c1d2e-3f40-4a51-8b62-7c8d9eaf0b1c", "deviceId": "demo-tablet", "publicKey": "",
                "displayName": "Kitchen tablet", "platform": "android", "clientId": "openclaw-android",
                "clientMode": "node", "role": "node", "roles": ["node"], "scopes": [String](),
                "remoteIp": "192.168.77.10", "silent": false, "isRepair": false, "ts": clock.wallMs - 60_000,
            ]
        ]
    }

    // MARK: - Commands

    func invoke(_ request: DemoRequest) -> DemoReply {
        let command = request.string("command") ?? ""
        guard let device = devices.first(where: { $0.id == request.string("nodeId") }), device.isConnected else {
            // The gateway tries to wake the device before it answers.
            return .later(
                ms: clock.paced(50),
                .failed(Self.unavailable("node not connected", ["code": "NOT_CONNECTED"]))
            )
        }
        if command.hasPrefix("system.execApprovals.") {
            return notAllowed("node.invoke does not allow system.execApprovals.*; use exec.approvals.node.*", command)
        }
        guard device.commands.contains(command) else {
            let isWithheld = device.withheld.contains(command)
            let reason = isWithheld ? "command not allowlisted" : "command not declared by node"
            let told =
                isWithheld
                ? "\"\(command)\" is not in the allowlist for platform \"\(device.platform)\""
                : "the node did not declare \"\(command)\""
            return notAllowed("node command not allowed: \(told)", command, reason)
        }
        calls.append(
            Call(
                node: device.id,
                command: command,
                key: request.string("idempotencyKey") ?? "",
                params: request.params?["params"].map { WireValue($0) } ?? .null
            )
        )
        if calls.count > Self.mostCalls { calls.removeFirst() }
        let wait = request.int("timeoutMs") ?? 30_000
        return .later(ms: clock.paced(30), perform(command, on: device, waitMs: wait))
    }

    private func perform(_ command: String, on device: Device, waitMs: Int64) -> DemoReply {
        let isPhone = device.id == Self.phone
        let isBehind = isPhone && clock.wallMs >= inFrontUntil
        switch command {
        case "system.notify":
            if isPhone { inFrontUntil = clock.wallMs + Self.attentionMs }
            return done(command, device, nil)
        case "canvas.present", "canvas.navigate":
            return isBehind ? queued(command, device) : done(command, device, ["ok": true])
        case "camera.snap":
            if isBehind { return failed("NODE_BACKGROUND_UNAVAILABLE", "the app has to be in front") }
            return done(command, device, ["format": "jpg", "base64": Self.picture, "width": 1, "height": 1])
        case "camera.clip":
            return done(
                command,
                device,
                ["format": "mp4", "base64": Self.clip, "durationMs": 1_000, "hasAudio": false]
            )
        // Content that does not match its declared type.
        case "screen.record": return done(command, device, ["format": "mp4", "base64": "bm8gY2xpcA=="])
        case "canvas.snapshot": return done(command, device, ["format": "png", "base64": "%%%"])
        case "location.get":
            guard isPhone else { return failed("LOCATION_DISABLED", "location is switched off") }
            return done(
                command,
                device,
                ["lat": 52.520008, "lon": 13.404954, "accuracyMeters": 12.5, "isPrecise": true, "source": "gps"]
            )
        case "contacts.search": return failed("CONTACTS_PERMISSION_REQUIRED", "contacts: not allowed by the user")
        case "photos.latest":
            return .later(ms: Int(clamping: min(waitMs, 1_000)), failed("TIMEOUT", "node invoke timed out"))
        case "reminders.list": return failed("INTERNAL", "something broke in /home/ann/reminders")
        // A text that is not JSON.
        case "calendar.events": return done(command, device, nil, text: "{\"events\": [")
        case "device.status":
            return done(command, device, ["batteryPercent": 81, "charging": false, "lowPowerMode": false])
        case "device.info": return done(command, device, ["model": device.model, "os": "iOS 20.1"])
        case "camera.list": return done(command, device, ["devices": [wireObject(["id": "back", "position": "back"])]])
        default: return done(command, device, ["ok": true])
        }
    }

    private func done(_ command: String, _ device: Device, _ payload: WireValue?, text: String? = nil) -> DemoReply {
        let told = text ?? payload.map { String(decoding: $0.bytes, as: UTF8.self) }
        let answer: WireValue = [
            "ok": true, "nodeId": device.id, "command": command, "payload": text == nil ? payload : WireValue?.none,
            "payloadJSON": told,
        ]
        return .ok(answer)
    }

    /// Queues a command that will still run, once, when the app is in the foreground.
    private func queued(_ command: String, _ device: Device) -> DemoReply {
        queuedCount += 1
        let wake: WireValue = ["path": "apns", "available": true, "throttled": false]
        let nodeError: WireValue = ["code": "NODE_BACKGROUND_UNAVAILABLE", "message": "the app has to be in front"]
        var error = Self.unavailable(
            "node command queued until iOS returns to foreground",
            [
                "code": "QUEUED_UNTIL_FOREGROUND", "queuedActionId": "queued-\(queuedCount)",
                "nodeId": device.id, "command": command, "wake": wake, "nodeError": nodeError,
            ]
        )
        error.isRetryable = true
        return .failed(error)
    }

    private func failed(_ code: String, _ message: String) -> DemoReply {
        let nodeError: WireValue = ["code": code, "message": message]
        return .failed(Self.unavailable("\(code): \(message)", ["nodeError": nodeError]))
    }

    private func notAllowed(_ message: String, _ command: String, _ reason: String = "not allowed") -> DemoReply {
        .failed(
            DemoError(
                "INVALID_REQUEST",
                message,
                details: ["reason": reason, "command": command]
            )
        )
    }

    private static func unavailable(_ message: String, _ details: WireValue) -> DemoError {
        DemoError("UNAVAILABLE", message, details: details)
    }

    // MARK: - From outside

    /// False if no name contains the text.
    func connect(_ name: String, _ isConnected: Bool) -> Bool {
        guard let place = devices.firstIndex(where: { $0.name.contains(name) }) else { return false }
        devices[place].isConnected = isConnected
        return true
    }
}
