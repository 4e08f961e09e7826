/// Remembers at least the newest so many values, and at most twice as many. The oldest are forgotten first.
struct RecentValues<Value: Sendable>: Sendable {
    private let least: Int
    private var newer: [String: Value] = [:]
    private var older: [String: Value] = [:]

    init(atLeast least: Int) {
        self.least = least
    }

    var count: Int { newer.count + older.count }

    subscript(name: String) -> Value? {
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
