extension RandomAccessCollection {
    /// Where a sorted collection turns: the first index whose element `isBehind`, as all after it are; the end when none is.
    ///
    /// `@inlinable`, so that each use in another target is a loop of its own.
    @inlinable
    package func partitioningIndex(where isBehind: (Element) -> Bool) -> Index {
        var low = startIndex
        var left = count
        while left > 0 {
            let half = left / 2
            let middle = index(low, offsetBy: half)
            if isBehind(self[middle]) {
                left = half
            } else {
                low = index(after: middle)
                left -= half + 1
            }
        }
        return low
    }
}
