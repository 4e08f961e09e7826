/// How the demo gateway starts. The same names serve as command line flags.
package struct DemoGatewayOptions: Sendable, Equatable {
    /// 0 takes any free port.
    package var port: UInt16 = 0
    package var release = GatewayRelease.june
    package var token = "demo-token"
    package var password: String?
    /// Factor on the pace of scripted runs; 0 plays them at once.
    package var speed = 1.0
    package var tickIntervalMs = 30_000
    /// Where each accepted chat.send is appended as one JSON line.
    package var recordFile: String?
    /// What the record file holds at the start is in the history: a gateway that was killed and forgot no message.
    package var recallsRecord = false
    /// The user's row is in the history from the start of its run, and not only with the first answer.
    package var storesUserRowAtOnce = false
    package var mainKey = "main"
    package var faults = GatewayFaults()

    /// One line for each name, for a usage text.
    package static let help: [(name: String, text: String)] = [
        ("fault", "NAME=VALUE, may repeat; names as in /demo/faults"),
        ("main-key", "key of the main session (main)"),
        ("pairing", "true: every device has to be approved"),
        ("password", "ask for this password instead of the token"),
        ("port", "port on 127.0.0.1 (0: any free one)"),
        ("protocol", "3 or 4 (4)"),
        ("recall", "true: what the record file holds is in the history"),
        ("record", "file to which accepted messages are appended"),
        ("release", "march, june or autumn instead of a protocol number"),
        ("speed", "pace of scripted runs (1); 0 plays them at once"),
        ("store-user-row", "true: the question is in the history from the start"),
        ("tick", "milliseconds between ticks (30000)"),
        ("token", "shared token (demo-token)"),
    ]
    package static var names: [String] { help.map(\.name) }

    package init() {}

    /// Reads `name, value` pairs in order; later ones win. `fault` may repeat and takes `NAME=VALUE`.
    package init(_ pairs: some Sequence<(String, String)>) throws(DemoGatewayOptionError) {
        for (name, value) in pairs { try set(name, to: value) }
    }

    package mutating func set(_ name: String, to value: String) throws(DemoGatewayOptionError) {
        switch name {
        case "port":
            guard let found = UInt16(value) else { throw .badValue(name: name, value: value, wanted: "a port") }
            port = found
        case "protocol":
            switch value {
            case "3": release = .march
            case "4": release = .june
            default: throw .badValue(name: name, value: value, wanted: "3 or 4")
            }
        case "release":
            guard let found = GatewayRelease(rawValue: value) else {
                throw .badValue(name: name, value: value, wanted: "march, june or autumn")
            }
            release = found
        case "token":
            guard !value.isEmpty else { throw .badValue(name: name, value: value, wanted: "a token") }
            token = value
        case "password": password = value.isEmpty ? nil : value
        case "speed":
            guard let found = Double(value), found == 0 || found >= 0.01, found <= 1000 else {
                throw .badValue(name: name, value: value, wanted: "0 or a number from 0.01 to 1000")
            }
            speed = found
        case "tick":
            guard let found = Int(value), found >= 10, found <= 3_600_000 else {
                throw .badValue(name: name, value: value, wanted: "milliseconds from 10 to 3600000")
            }
            tickIntervalMs = found
        case "record":
            guard !value.isEmpty else { throw .badValue(name: name, value: value, wanted: "a file") }
            recordFile = value
        case "main-key":
            guard !value.isEmpty, !value.contains(":") else {
                throw .badValue(name: name, value: value, wanted: "a session key without a colon")
            }
            mainKey = value.lowercased()
        case "pairing": try faults.set("pairing", to: value)
        case "recall": recallsRecord = value != "false" && value != "off"
        case "store-user-row": storesUserRowAtOnce = value != "false" && value != "off"
        case "fault":
            guard let split = value.firstIndex(of: "=") else {
                throw .badValue(name: name, value: value, wanted: "NAME=VALUE")
            }
            try faults.set(String(value[..<split]), to: String(value[value.index(after: split)...]))
        default: throw .unknownName(name, known: Self.names)
        }
    }
}
