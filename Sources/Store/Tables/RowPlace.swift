package import Basics

/// A row's position in a list by time: where two have one time, their ids decide.
package struct RowPlace: Sendable {
    package var at: Timestamp
    package var id: String

    package init(_ at: Timestamp, _ id: String) {
        self.at = at
        self.id = id
    }
}
