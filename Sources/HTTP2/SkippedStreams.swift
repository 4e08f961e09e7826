/// Remembers which stream ids a peer passed over, so that using one later is told from trailers on an old stream.
///
/// RFC 9113 §5.1.1: a new stream closes all idle streams below it, and an id in that state must not open again. Clients
/// hardly ever skip, so the record is a few ranges; a peer that skips all the time loses the oldest, and those ids
/// are then merely ignored by the library as closed streams.
struct SkippedStreams {
    private static let maximumRanges = 64

    private var highest: UInt32 = 0
    private var ranges: [ClosedRange<UInt32>] = []

    /// False when `stream` was passed over before. Even ids and zero are the library's to refuse.
    mutating func open(_ stream: UInt32) -> Bool {
        guard stream % 2 == 1 else { return true }
        guard stream > highest else {
            return !ranges.contains { $0.contains(stream) }
        }
        let next = highest == 0 ? 1 : highest + 2
        if stream > next {
            ranges.append(next...(stream - 2))
            if ranges.count > Self.maximumRanges { ranges.removeFirst() }
        }
        highest = stream
        return true
    }
}
