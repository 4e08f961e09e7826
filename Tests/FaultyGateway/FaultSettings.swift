package import DemoGateway

/// The faults of a gateway that misbehaves on purpose; the defaults are a healthy one. Each has its name in
/// `/demo/faults` and in `--fault NAME=VALUE`. A count goes down by one each time its fault strikes; -1 strikes always.
package struct FaultSettings: Sendable, Equatable {
    /// The way in which bytes reach the stream.
    package enum Delivery: Sendable, Equatable {
        case whole
        /// In writes of a few bytes with a pause between them; a pause of 0 lasts one turn of the loop.
        case torn(bytes: Int, everyMs: Int)
        /// Each message in WebSocket fragments of a few bytes.
        case fragmented(bytes: Int)
    }

    /// The connection ends right after the answer to an accepted chat.send.
    package var ackThenClose = 0
    /// How far the gateway's clock is ahead.
    package var clockSkewMs = 0
    /// The connection ends instead of the answer to an accepted chat.send.
    package var closeBeforeAck = 0
    /// A decision about an approval is accepted, and its connection ends without an answer.
    package var decideThenDrop = 0
    package var delivery = Delivery.whole
    /// The answer to chat.send comes twice.
    package var doubleAck = 0
    /// Someone adds a line to a file right after it was read.
    package var editAfterRead = 0
    /// A text message that is not JSON follows each hello and each answer to chat.send.
    package var garbage = 0
    /// The history does not show idempotency keys.
    package var historyWithoutKeys = false
    /// A decision about an approval is not accepted, and its connection ends.
    package var loseDecision = 0
    /// A chat.send is not accepted, and its connection ends without an answer.
    package var loseSend = 0
    /// The keys of finished sends are forgotten at once.
    package var lostDedupe = false
    /// Every client counts as remote, so its device needs an approval.
    package var pairing = false
    /// The code of the rejection with which every connect is answered.
    package var refuse: String?
    /// A connection ends right after the upgrade.
    package var refuseConnections = 0
    /// An upgrade is answered 503.
    package var refuseUpgrades = 0
    /// A chat.send is refused with `sendErrorCode`, and with `retryAfterMs` unless that is 0.
    package var sendError = 0
    package var sendErrorCode = "UNAVAILABLE"
    package var retryAfterMs = 0
    /// Every numbered event whose number is a multiple of this is lost; 0 loses none.
    package var seqGapEvery = 0
    /// No events at all; requests are still answered.
    package var silence = false
    /// The delay of the answer to chat.send.
    package var slowAckMs = 0
    /// The delay of every other answer but that to connect.
    package var slowAnswersMs = 0
    /// Scopes that a client lacks although its hello lists them.
    package var strippedScopes: [String] = []

    package init() {}

    package static let names = [
        "ackThenClose", "clockSkewMs", "closeBeforeAck", "decideThenDrop", "delivery", "doubleAck", "editAfterRead",
        "garbage",
        "historyWithoutKeys", "loseDecision", "loseSend", "lostDedupe", "pairing", "refuse", "refuseConnections",
        "refuseUpgrades",
        "retryAfterMs", "sendError", "sendErrorCode", "seqGapEvery", "silence", "slowAckMs", "slowAnswersMs",
        "strippedScopes",
    ]

    /// Whether a counted fault strikes now.
    static func strikes(_ count: inout Int) -> Bool {
        guard count != 0 else { return false }
        if count > 0 { count -= 1 }
        return true
    }

    package mutating func set(_ name: String, to value: String) throws(DemoGatewayOptionError) {
        switch name {
        case "ackThenClose": ackThenClose = try Self.number(name, value, from: -1)
        case "clockSkewMs": clockSkewMs = try Self.number(name, value, from: -1 << 40)
        case "closeBeforeAck": closeBeforeAck = try Self.number(name, value, from: -1)
        case "decideThenDrop": decideThenDrop = try Self.number(name, value, from: -1)
        case "delivery": delivery = try Self.delivery(value)
        case "doubleAck": doubleAck = try Self.number(name, value, from: -1)
        case "editAfterRead": editAfterRead = try Self.number(name, value, from: -1)
        case "garbage": garbage = try Self.number(name, value, from: -1)
        case "historyWithoutKeys": historyWithoutKeys = try Self.flag(name, value)
        case "loseDecision": loseDecision = try Self.number(name, value, from: -1)
        case "loseSend": loseSend = try Self.number(name, value, from: -1)
        case "lostDedupe": lostDedupe = try Self.flag(name, value)
        case "pairing": pairing = try Self.flag(name, value)
        case "refuse":
            guard value.isEmpty || value == "none" || ConnectRejection.codes.contains(value) else {
                let wanted = "none or " + ConnectRejection.codes.joined(separator: ", ")
                throw .badValue(name: name, value: value, wanted: wanted)
            }
            refuse = value.isEmpty || value == "none" ? nil : value
        case "refuseConnections": refuseConnections = try Self.number(name, value, from: -1)
        case "refuseUpgrades": refuseUpgrades = try Self.number(name, value, from: -1)
        case "retryAfterMs": retryAfterMs = try Self.number(name, value, from: 0)
        case "sendError": sendError = try Self.number(name, value, from: -1)
        case "sendErrorCode":
            guard !value.isEmpty else { throw .badValue(name: name, value: value, wanted: "an error code") }
            sendErrorCode = value
        case "seqGapEvery": seqGapEvery = try Self.number(name, value, from: 0)
        case "silence": silence = try Self.flag(name, value)
        case "slowAckMs": slowAckMs = try Self.number(name, value, from: 0)
        case "slowAnswersMs": slowAnswersMs = try Self.number(name, value, from: 0)
        case "strippedScopes": strippedScopes = value.split(separator: ",").map(String.init)
        default: throw .unknownName(name, known: Self.names)
        }
    }

    private static func number(_ name: String, _ value: String, from low: Int) throws(DemoGatewayOptionError) -> Int {
        guard let found = Int(value), found >= low, found <= 1 << 40 else {
            throw .badValue(name: name, value: value, wanted: "a whole number from \(low) to \(1 << 40)")
        }
        return found
    }

    private static func flag(_ name: String, _ value: String) throws(DemoGatewayOptionError) -> Bool {
        switch value {
        case "true", "on", "1", "yes": return true
        case "false", "off", "0", "no": return false
        default: throw .badValue(name: name, value: value, wanted: "true or false")
        }
    }

    private static func delivery(_ value: String) throws(DemoGatewayOptionError) -> Delivery {
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
