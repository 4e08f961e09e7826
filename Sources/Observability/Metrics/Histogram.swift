/// Counts durations by fixed upper bounds, without allocation.
package struct Histogram: Sendable {
    /// Bounds for answers on one host: most take less than a millisecond, answers that wait for a run take minutes.
    package static let bounds: [UInt64] = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 50_000_000, 250_000_000, 1_000_000_000,
        5_000_000_000, 30_000_000_000, 120_000_000_000, 600_000_000_000,
    ]

    /// Counts per bucket, not cumulative; the last one counts the values above every bound.
    package private(set) var counts = [UInt64](repeating: 0, count: bounds.count + 1)
    package private(set) var nanoseconds: UInt64 = 0

    package init() {}

    package var count: UInt64 { counts.reduce(0, &+) }

    package mutating func observe(nanoseconds value: UInt64) {
        var place = 0
        while place < Self.bounds.count, value > Self.bounds[place] { place += 1 }
        counts[place] &+= 1
        nanoseconds &+= value
    }
}
