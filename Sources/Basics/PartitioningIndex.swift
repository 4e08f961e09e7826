extension RandomAccessCollection {
    /// For a sorted collection: the index of the first element for which `isBehind` is true, as it is for all later
    /// ones; the end if there is none.
    ///
    /// `@inlinable`, so that each use in another target compiles to its own loop.
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
