import Basics

/// The settings of a demo gateway. The command line accepts them by the names in `names`.
package struct DemoGatewayOptions: Sendable, Equatable {
    /// The port; 0 for any free one.
    package var port: UInt16 = 0
    /// The release, which sets its plain shape.
    package var release = DemoRelease.june { didSet { shape = .plain(release) } }
    package var shape = ReleaseShape.plain(.june)
    package var token = "demo-token"
    package var password: String?
    /// Factor on the pace of scripted runs; 0 plays them at once.
    package var speed = 1.0
    package var tickIntervalMs = 30_000
    package var mainKey = "main"
    /// Writes the user's row at the start of its run, regardless of the shape.
    package var storesUserRowAtOnce = false

    package static let names = ["main-key", "password", "port", "protocol", "release", "speed", "tick", "token"]

    package init() {}

    package mutating func set(_ name: String, to value: String) throws(DemoGatewayOptionError) {
        switch name {
        case "main-key":
            guard !value.isEmpty, !value.contains(":") else {
                throw .badValue(name: name, value: value, wanted: "a session key without a colon")
            }
            mainKey = value.lowercased()
        case "password": password = value.isEmpty ? nil : value
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
            if let found = DemoRelease(named: value) {
                release = found
            } else if let (found, recorded) = ReleaseShape.recorded[value] {
                release = found
                shape = recorded
            } else {
                let names = DemoRelease.names + ReleaseShape.recorded.keys.sorted()
                throw .badValue(name: name, value: value, wanted: "one of " + names.joined(separator: ", "))
            }
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
        case "token":
            guard !value.isEmpty else { throw .badValue(name: name, value: value, wanted: "a token") }
            token = value
        default: throw .unknownName(name, known: Self.names)
        }
    }
}

/// The reason why an option was refused, in words for the person who typed it.
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
