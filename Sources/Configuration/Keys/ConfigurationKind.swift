/// The values that a key takes, and their form as text.
package enum ConfigurationKind: Sendable, Equatable {
    case text
    case url
    /// A PostgreSQL server, as libpq reads it.
    case database
    case path
    /// The path of a file that holds a secret. The secret itself is never a value.
    case secretFile
    case bool
    case int(ClosedRange<Int64>)
    case fraction(ClosedRange<Double>)
    /// Milliseconds; written with a unit: `500ms`, `15s`, `10m`, `48h`, `7d`.
    case duration(ClosedRange<Int64>)
    /// Bytes; written plain or with a unit: `64KiB`, `1MiB`, `5MB`.
    case size(ClosedRange<Int64>)
    case choice([String])
    /// The separator in a text that holds the whole list.
    case list(separator: Character)
    /// An object in the file, or its JSON as a text. The part of Ladle that uses it reads the members.
    case object

    /// The kind's name in the reference.
    package var noun: String {
        switch self {
        case .text: "text"
        case .url: "URL"
        case .database: "URL of PostgreSQL"
        case .path: "path"
        case .secretFile: "path of a secret file"
        case .bool: "true or false"
        case .int(let range): "whole number, \(range.lowerBound) to \(range.upperBound)"
        case .fraction(let range): "number, \(range.lowerBound) to \(range.upperBound)"
        case .duration(let range):
            "duration, \(ConfigurationUnits.duration(range.lowerBound)) to \(ConfigurationUnits.duration(range.upperBound))"
        case .size(let range):
            "size, \(ConfigurationUnits.size(range.lowerBound)) to \(ConfigurationUnits.size(range.upperBound))"
        case .choice(let words): words.joined(separator: " or ")
        case .list: "list"
        case .object: "object"
        }
    }

    package var isList: Bool { if case .list = self { true } else { false } }
    package var isBool: Bool { self == .bool }
}

package enum ConfigurationValue: Sendable, Equatable {
    case text(String)
    case bool(Bool)
    case int(Int64)
    case fraction(Double)
    case list([String])
}
