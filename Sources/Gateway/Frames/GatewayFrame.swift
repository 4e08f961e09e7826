package import JSONBytes

/// One frame of the gateway protocol. Objects are open: what we do not know is ignored, never refused.
package enum GatewayFrame: Sendable {
    case response(GatewayResponse)
    case event(GatewayEvent)
    /// Well-formed JSON of another kind, with its `type` where it has one: counted and dropped.
    case unknown(type: String?)

    package init(_ document: JSONDocument) {
        let root = document.root
        let type = root["type"]?.string
        switch type {
        case "res":
            // Gateways give back what they were sent; an id that is no text is still an answer, to nobody here.
            guard let given = root["id"] else { break }
            let id = given.string ?? String(decoding: given.raw.prefix(64), as: UTF8.self)
            self = .response(GatewayResponse(id: id, root))
            return
        case "event":
            guard let name = root["event"]?.string else { break }
            self = .event(GatewayEvent(name: name, root))
            return
        default: break
        }
        self = .unknown(type: type)
    }
}

/// The answer to one request. The values are views into the received frame and keep it alive.
package struct GatewayResponse: Sendable {
    package let id: String
    package let payload: JSONValue?
    /// Present exactly when the gateway said `ok: false`.
    package let error: GatewayError?

    package init(id: String, _ frame: JSONValue) {
        self.id = id
        payload = frame["payload"]
        // Anything but a clear yes is a no: a torn answer must not count as success.
        error = frame["ok"]?.bool == true ? nil : GatewayError(frame["error"])
    }
}

/// Something the gateway tells without being asked.
package struct GatewayEvent: Sendable {
    package let name: String
    package let payload: JSONValue?
    /// Counts broadcasts; events sent to chosen connections carry none.
    package let seq: Int64?
    package let presenceVersion: Int64?
    package let healthVersion: Int64?

    package init(name: String, _ frame: JSONValue) {
        self.name = name
        payload = frame["payload"]
        seq = frame["seq"]?.int
        presenceVersion = frame["stateVersion"]?["presence"]?.int
        healthVersion = frame["stateVersion"]?["health"]?.int
    }
}
