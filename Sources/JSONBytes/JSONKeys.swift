/// Refuses objects with two members of one name, because readers would disagree about their meaning.
enum JSONKeys {
    /// Up to this number the names are compared in pairs. Above it a set is used, whose random seed prevents chosen
    /// collisions.
    private static let pairwise = 16

    static func checkUnique(of object: Int, in nodes: [JSONNode], _ source: Span<UInt8>) throws(JSONError) {
        var keys: [Int] = []
        var index = object + 1
        while index < nodes[object].next {
            keys.append(index)
            index = Int(nodes[index + 1].next)
        }
        guard keys.count > 1 else { return }
        if keys.count > pairwise || keys.contains(where: { nodes[$0].hasEscapes }) {
            var seen = Set<[UInt8]>(minimumCapacity: keys.count)
            for key in keys where !seen.insert(JSONStrings.decoded(nodes[key], source)).inserted {
                throw JSONError(offset: Int(nodes[key].start) - 1, reason: .duplicateKey)
            }
            return
        }
        for later in 1..<keys.count {
            for earlier in 0..<later where same(nodes[keys[earlier]], nodes[keys[later]], source) {
                throw JSONError(offset: Int(nodes[keys[later]].start) - 1, reason: .duplicateKey)
            }
        }
    }

    private static func same(_ left: JSONNode, _ right: JSONNode, _ source: Span<UInt8>) -> Bool {
        guard left.end - left.start == right.end - right.start else { return false }
        var a = Int(left.start)
        var b = Int(right.start)
        while a < Int(left.end) {
            guard source[a] == source[b] else { return false }
            a += 1
            b += 1
        }
        return true
    }
}
