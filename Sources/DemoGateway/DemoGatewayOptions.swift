import Basics

/// Why an option was not taken; the message is written for the person who typed it.
package enum DemoGatewayOptionError: Error, Equatable, CustomStringConvertible {
    case unknownName(String, known: [String])
    case badValue(name: String, value: String, wanted: String)

    package var description: String {
        switch self {
        case .unknownName(let name, let known):
            let hint = NearestName.of(name, in: known).map { "; did you mean \($0)?" } ?? ""
            return "unknown option \(name)\(hint)"
        case .badValue(let name, let value, let wanted):
            return "\(name): \"\(value)\" is not \(wanted)"
        }
    }
}

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
    /// The user's row is in the history from the start of its run, and not only with the first answer.
    package var storesUserRowAtOnce = false
    package var mainKey = "main"
    package var faults = GatewayFaults()

    package static let names = [
        "fault", "main-key", "pairing", "password", "port", "protocol", "record", "release", "speed", "store-user-row",
        "tick", "token",
    ]

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
