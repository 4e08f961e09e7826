/// Remembers at least the newest so many values, and at most twice as many. The oldest are forgotten first.
struct RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let least: Int
    private var newer: [Key: Value] = [:]
    private var older: [Key: Value] = [:]

    init(atLeast least: Int) {
        self.least = least
    }

    var count: Int { newer.count + older.count }

    subscript(name: Key) -> Value? {
        get { newer[name] ?? older[name] }
        set {
            older[name] = nil
            newer[name] = newValue
            guard newer.count > least else { return }
            older = newer
            newer = [:]
        }
    }
}
