/// Remembers names for a while. A command that runs for weeks must not remember all of them.
struct RecentNames {
    private static let most = 500

    private var names: [String] = []

    /// False if the name is already remembered.
    mutating func insert(_ name: String) -> Bool {
        guard !names.contains(name) else { return false }
        names.append(name)
        if names.count > Self.most { names.removeFirst() }
        return true
    }
}
