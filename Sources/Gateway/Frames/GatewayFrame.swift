package import JSONBytes

/// One frame of the gateway protocol. Objects are open: unknown members are ignored, never refused.
package enum GatewayFrame: Sendable {
    case response(GatewayResponse)
    case event(GatewayEvent)
    /// Well-formed JSON of another kind, with its `type` if it has one: counted and dropped.
    case unknown(type: String?)

    package init(_ document: JSONDocument) {
        let root = document.root
        let type = root["type"]?.string
        switch type {
        case "res":
            // An answer whose id is not a text cannot match any of our requests.
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
    /// Present exactly if the gateway sent `ok: false`.
    package let error: GatewayError?

    package init(id: String, _ frame: JSONValue) {
        self.id = id
        payload = frame["payload"]
        // Anything but a clear yes counts as no: a torn answer must not look like success.
        error = frame["ok"]?.bool == true ? nil : GatewayError(frame["error"])
    }
}
