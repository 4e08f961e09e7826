/// Remembers which stream ids a peer skipped, so that using one later is not mistaken for trailers on an old stream.
///
/// RFC 9113 §5.1.1: a new stream closes all idle streams below it, and their ids must not be used again. Clients hardly
/// ever skip ids, so the record is a few ranges. If a peer skips constantly, the oldest ranges are forgotten and the
/// library ignores those ids as closed streams.
struct SkippedStreams {
    private static let maximumRanges = 64

    private var highest: UInt32 = 0
    private var ranges: [ClosedRange<UInt32>] = []

    /// False when the peer skipped `stream` before. The library itself refuses even ids and zero.
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
