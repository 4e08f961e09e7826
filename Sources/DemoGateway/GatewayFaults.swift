/// What goes wrong on purpose. Every field has a name in `/demo/faults` and in `--fault NAME=VALUE`; the defaults are a
/// healthy gateway. A count is used up by one for each time the fault strikes; -1 strikes always.
package struct GatewayFaults: Sendable, Equatable {
    /// How bytes reach the stream.
    package enum Delivery: Sendable, Equatable {
        case whole
        /// So many bytes a write, so long between writes; 0 is one write a loop turn.
        case torn(bytes: Int, everyMs: Int)
        /// Each message as WebSocket fragments of so many bytes.
        case fragmented(bytes: Int)
    }

    /// Every connect is answered with this rejection.
    package var refuse: Refusal?
    /// Every connect counts as remote and unknown until its device is approved.
    package var pairing = false
    /// Scopes taken away from whoever connects, whatever the hello says.
    package var strippedScopes: [String] = []
    package var delivery = Delivery.whole
    /// Every n-th broadcast event is counted but not sent; 0 is never.
    package var seqGapEvery = 0
    /// No ticks, no health, no events of any kind; requests are still answered.
    package var silence = false
    /// Nothing at all is sent any more.
    package var mute = false
    package var ackThenClose = 0
    package var closeBeforeAck = 0
    package var doubleAck = 0
    /// chat.send is refused this often, with `sendErrorCode` and `retryAfterMs`.
    package var sendError = 0
    package var sendErrorCode = "UNAVAILABLE"
    package var retryAfterMs = 0
    /// Keys are forgotten as soon as a run ends or restarts.
    package var lostDedupe = false
    package var historyWithoutKeys = false
    /// The answer to chat.send waits this long.
    package var slowAckMs = 0
    /// Someone adds a line to a file right after it was read.
    package var editAfterRead = 0
    /// Bytes of padding in an unknown event that follows each hello.
    package var oversizedBytes = 0
    /// Text messages that are no JSON, one after each hello and each ack.
    package var garbage = 0
    /// Attempts to connect that are cut right after the TCP handshake.
    package var refuseConnections = 0

    package init() {}

    static func strikes(_ count: inout Int) -> Bool {
        guard count != 0 else { return false }
        if count > 0 { count -= 1 }
        return true
    }
}

extension GatewayFaults {
    package static let names = [
        "ackThenClose", "closeBeforeAck", "delivery", "doubleAck", "editAfterRead", "garbage", "historyWithoutKeys",
        "lostDedupe",
        "mute",
        "oversizedBytes", "pairing", "refuse", "refuseConnections", "retryAfterMs", "sendError", "sendErrorCode",
        "seqGapEvery", "silence", "slowAckMs", "strippedScopes",
    ]

    /// Sets one fault from text; the error names what would have been accepted.
    package mutating func set(_ name: String, to value: String) throws(DemoGatewayOptionError) {
        switch name {
        case "ackThenClose": ackThenClose = try number(name, value, from: -1)
        case "closeBeforeAck": closeBeforeAck = try number(name, value, from: -1)
        case "doubleAck": doubleAck = try number(name, value, from: -1)
        case "editAfterRead": editAfterRead = try number(name, value, from: -1)
        case "garbage": garbage = try number(name, value, from: -1)
        case "oversizedBytes": oversizedBytes = try number(name, value, from: 0, to: 64 << 20)
        case "refuseConnections": refuseConnections = try number(name, value, from: -1)
        case "retryAfterMs": retryAfterMs = try number(name, value, from: 0)
        case "sendError": sendError = try number(name, value, from: -1)
        case "seqGapEvery": seqGapEvery = try number(name, value, from: 0)
        case "slowAckMs": slowAckMs = try number(name, value, from: 0)
        case "historyWithoutKeys": historyWithoutKeys = try flag(name, value)
        case "lostDedupe": lostDedupe = try flag(name, value)
        case "mute": mute = try flag(name, value)
        case "pairing": pairing = try flag(name, value)
        case "silence": silence = try flag(name, value)
        case "sendErrorCode":
            guard !value.isEmpty else { throw .badValue(name: name, value: value, wanted: "an error code") }
            sendErrorCode = value
        case "strippedScopes":
            strippedScopes = value.split(separator: ",").map(String.init)
        case "refuse":
            guard !value.isEmpty, value != "none" else {
                refuse = nil
                return
            }
            guard let found = Refusal(code: value) else {
                throw .badValue(name: name, value: value, wanted: "none or " + Refusal.allCodes.joined(separator: ", "))
            }
            refuse = found
        case "delivery": delivery = try delivery(value)
        default: throw .unknownName(name, known: GatewayFaults.names)
        }
    }

    var described: WireValue {
        [
            "ackThenClose": ackThenClose, "closeBeforeAck": closeBeforeAck, "delivery": delivery.text,
            "doubleAck": doubleAck, "editAfterRead": editAfterRead, "garbage": garbage,
            "historyWithoutKeys": historyWithoutKeys,
            "lostDedupe": lostDedupe, "mute": mute, "oversizedBytes": oversizedBytes, "pairing": pairing,
            "refuse": refuse?.code ?? "none", "refuseConnections": refuseConnections, "retryAfterMs": retryAfterMs,
            "sendError": sendError, "sendErrorCode": sendErrorCode, "seqGapEvery": seqGapEvery, "silence": silence,
            "slowAckMs": slowAckMs, "strippedScopes": strippedScopes.joined(separator: ","),
        ]
    }

    private func number(
        _ name: String,
        _ value: String,
        from low: Int,
        to high: Int = 1 << 40
    ) throws(DemoGatewayOptionError) -> Int {
        guard let found = Int(value), found >= low, found <= high else {
            throw .badValue(name: name, value: value, wanted: "a whole number from \(low) to \(high)")
        }
        return found
    }

    private func flag(_ name: String, _ value: String) throws(DemoGatewayOptionError) -> Bool {
        switch value {
        case "true", "on", "1", "yes": return true
        case "false", "off", "0", "no": return false
        default: throw .badValue(name: name, value: value, wanted: "true or false")
        }
    }

    private func delivery(_ value: String) throws(DemoGatewayOptionError) -> Delivery {
        if value == "whole" { return .whole }
        let parts = value.split(separator: ":")
        if parts.count >= 2, let bytes = Int(parts[1]), bytes > 0, bytes <= 1 << 20 {
            let pause = parts.count == 3 ? Int(parts[2]) : 0
            if parts[0] == "torn", parts.count <= 3, let pause, (0...60_000).contains(pause) {
                return .torn(bytes: bytes, everyMs: pause)
            }
            if parts[0] == "fragmented", parts.count == 2 { return .fragmented(bytes: bytes) }
        }
        throw .badValue(name: "delivery", value: value, wanted: "whole, torn:BYTES[:MS] or fragmented:BYTES")
    }
}

extension GatewayFaults.Delivery {
    var text: String {
        switch self {
        case .whole: "whole"
        case .torn(let bytes, let pause): pause == 0 ? "torn:\(bytes)" : "torn:\(bytes):\(pause)"
        case .fragmented(let bytes): "fragmented:\(bytes)"
        }
    }
}
