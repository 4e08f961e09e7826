/// Finds the name a person most likely meant, for errors that say what to type instead.
package enum NearestName {
    /// Longer input is not compared: a distance table grows with the product of both lengths.
    private static let longest = 64

    /// The closest candidate, or nil if none is near: at most a third of the letters may differ, and at least one must
    /// agree.
    package static func of(_ name: String, in candidates: some Sequence<String>) -> String? {
        guard name.utf8.count <= 4 * longest else { return nil }
        let wanted = Array(name.lowercased().unicodeScalars)
        guard !wanted.isEmpty, wanted.count <= longest else { return nil }
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let letters = Array(candidate.lowercased().unicodeScalars)
            guard letters.count <= longest else { continue }
            let distance = distance(wanted, letters)
            let allowed = max(1, max(wanted.count, letters.count) / 3)
            if distance <= allowed, distance < max(wanted.count, letters.count), distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.name
    }

    /// Insertions, deletions, substitutions and swaps of neighbours, each at cost one.
    static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        guard !left.isEmpty else { return right.count }
        guard !right.isEmpty else { return left.count }
        var twoAgo: [Int] = []
        var oneAgo = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            current.reserveCapacity(right.count + 1)
            for column in 1...right.count {
                let same = left[row - 1] == right[column - 1]
                var cost = min(oneAgo[column] + 1, current[column - 1] + 1, oneAgo[column - 1] + (same ? 0 : 1))
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    cost = min(cost, twoAgo[column - 2] + 1)
                }
                current.append(cost)
            }
            twoAgo = oneAgo
            oneAgo = current
        }
        return oneAgo[right.count]
    }
}
