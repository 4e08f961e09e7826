/// Refuses objects with two members of one name, because readers would disagree about their meaning.
enum JSONKeys {
    /// Up to this number the names are compared in pairs. Above it by their hashes, whose random seed prevents chosen
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
            try checkUnique(keys, in: nodes, source)
            return
        }
        for later in 1..<keys.count {
            for earlier in 0..<later where same(nodes[keys[earlier]], nodes[keys[later]], source) {
                throw JSONError(offset: Int(nodes[keys[later]].start) - 1, reason: .duplicateKey)
            }
        }
    }

    /// A table of places in `keys`, open to the next free slot. A set of the names would take an allocation for each of
    /// them, of which a large body may have millions.
    private static func checkUnique(
        _ keys: [Int],
        in nodes: [JSONNode],
        _ source: Span<UInt8>
    ) throws(JSONError) {
        let mask = (1 << (Int.bitWidth - keys.count.leadingZeroBitCount + 1)) - 1
        var table = [Int32](repeating: -1, count: mask + 1)
        for (place, key) in keys.enumerated() {
            var slot = hash(of: nodes[key], source) & mask
            while table[slot] >= 0 {
                guard !same(nodes[keys[Int(table[slot])]], nodes[key], source) else {
                    throw JSONError(offset: Int(nodes[key].start) - 1, reason: .duplicateKey)
                }
                slot = (slot + 1) & mask
            }
            table[slot] = Int32(place)
        }
    }

    private static func hash(of name: JSONNode, _ source: Span<UInt8>) -> Int {
        var hasher = Hasher()
        if name.hasEscapes {
            for byte in JSONStrings.decoded(name, source) { hasher.combine(byte) }
        } else {
            for place in Int(name.start)..<Int(name.end) { hasher.combine(source[place]) }
        }
        return hasher.finalize()
    }

    private static func same(_ left: JSONNode, _ right: JSONNode, _ source: Span<UInt8>) -> Bool {
        if left.hasEscapes || right.hasEscapes {
            return JSONStrings.decoded(left, source) == JSONStrings.decoded(right, source)
        }
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
