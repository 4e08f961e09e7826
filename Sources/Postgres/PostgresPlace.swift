/// The server and the session with it, in libpq's own words. A word given later wins.
package struct PostgresPlace: Sendable {
    private(set) var words: [(name: String, value: String)] = []
    /// The longest wait for a connection, and for the results of what was sent.
    package var connectMs: Int64 = 3_000
    package var answerMs: Int64 = 10_000

    package init() {}

    package mutating func set(_ name: String, _ value: String) {
        words.append((name, value))
    }
}
