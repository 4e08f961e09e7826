extension [UInt8] {
    /// Compares blocks of 64 bytes. A block has no early exit, so that the compiler can use wide instructions.
    func hasBytes(_ prefix: [UInt8]) -> Bool {
        guard count >= prefix.count else { return false }
        let left = span
        let right = prefix.span
        var place = 0
        while place + 64 <= right.count {
            var difference: UInt8 = 0
            for offset in place..<place + 64 { difference |= left[offset] ^ right[offset] }
            if difference != 0 { return false }
            place += 64
        }
        while place < right.count {
            if left[place] != right[place] { return false }
            place += 1
        }
        return true
    }
}
