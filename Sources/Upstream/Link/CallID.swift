/// Identifies one of our requests as long as a report about it may come. Never reused within a process.
package struct CallID: Hashable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }
}
