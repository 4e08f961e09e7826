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
