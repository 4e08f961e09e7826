extension ArraySlice<UInt8> {
    /// How many bytes both begin with. Compares blocks of 64 bytes. A block has no early exit, so that the compiler can use wide
    /// instructions.
    func sharedBytes(_ other: ArraySlice<UInt8>) -> Int {
        let left = span
        let right = other.span
        let end = Swift.min(left.count, right.count)
        var place = 0
        while place + 64 <= end {
            var difference: UInt8 = 0
            for offset in place..<place + 64 { difference |= left[offset] ^ right[offset] }
            if difference != 0 { break }
            place += 64
        }
        while place < end, left[place] == right[place] { place += 1 }
        return place
    }

    func hasBytes(_ prefix: ArraySlice<UInt8>) -> Bool { count >= prefix.count && sharedBytes(prefix) == prefix.count }
}
