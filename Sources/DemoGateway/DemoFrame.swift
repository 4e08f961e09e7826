import JSONBytes

/// The gateway's frames as bytes.
package enum DemoFrame {
    package static func response(_ id: String, ok payload: WireValue) -> [UInt8] {
        wireObject(["type": "res", "id": id, "ok": true, "payload": payload]).bytes
    }

    package static func response(_ id: String, error: DemoError, payload: WireValue? = nil) -> [UInt8] {
        wireObject(["type": "res", "id": id, "ok": false, "payload": payload, "error": error.wire]).bytes
    }

    package static func event(_ name: String, _ payload: WireValue) -> [UInt8] {
        event(name, payload: payload.bytes)
    }

    /// The payload comes as bytes, so that a broadcast encodes it once for all connections.
    static func event(
        _ name: String,
        payload: [UInt8],
        seq: Int64? = nil,
        versions: (presence: Int64, health: Int64)? = nil
    )
        -> [UInt8]
    {
        var writer = JSONWriter(capacity: payload.count + 96)
        writer.object { writer in
            writer.member("type", "event")
            writer.member("event", name)
            writer.member("payload", raw: payload)
            writer.member("seq", seq)
            if let versions {
                writer.object("stateVersion") { writer in
                    writer.member("presence", versions.presence)
                    writer.member("health", versions.health)
                }
            }
        }
        return writer.bytes
    }
}
