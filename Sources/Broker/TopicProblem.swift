/// The reason why a configured prefix or name is no part of a topic.
package enum TopicProblem: Error, Equatable, Sendable {
    case empty
    /// Two slashes in a row, or a slash at an end.
    case emptyLevel
    case wildcard
    /// The broker's own topics begin with a dollar sign.
    case dollar
    case control
    case tooLong(bytes: Int)
    case tooManyLevels(limit: Int)
}

extension TopicProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "it is empty"
        case .emptyLevel: "it has an empty level: two slashes in a row, or a slash at an end"
        case .wildcard: "it has a + or a #, which are wildcards in topics"
        case .dollar: "it begins with $, and such topics are the broker's own"
        case .control: "it has a control character"
        case .tooLong(let bytes): "it has more than \(bytes) bytes"
        case .tooManyLevels(let limit): "prefix and name have more than \(limit) levels together"
        }
    }
}
