package import DemoGateway

/// The settings of a faulty gateway: those of the demo gateway, its faults, and the record of accepted messages.
package struct FaultyGatewayOptions {
    package var gateway = DemoGatewayOptions()
    package var faults = FaultSettings()
    /// The file to which each accepted chat.send is appended as one JSON line.
    package var recordFile: String?
    /// The file to which each received decision about an approval is appended as one JSON line.
    package var decisionsFile: String?
    /// Puts the messages of the record file into the history, as if this gateway had been killed and had forgotten
    /// none.
    package var recallsRecord = false

    package static let names =
        ["decisions", "fault", "pairing", "recall", "record", "store-user-row"] + DemoGatewayOptions.names

    package init() {}

    package mutating func set(_ name: String, to value: String) throws(DemoGatewayOptionError) {
        switch name {
        case "decisions": decisionsFile = value
        case "fault":
            guard let split = value.firstIndex(of: "=") else {
                throw .badValue(name: name, value: value, wanted: "NAME=VALUE")
            }
            try faults.set(String(value[..<split]), to: String(value[value.index(after: split)...]))
        case "pairing": try faults.set(name, to: value)
        case "recall": recallsRecord = true
        case "record": recordFile = value
        case "store-user-row": gateway.storesUserRowAtOnce = true
        default:
            guard DemoGatewayOptions.names.contains(name) else { throw .unknownName(name, known: Self.names) }
            try gateway.set(name, to: value)
        }
    }
}
