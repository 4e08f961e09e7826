import Basics
import Testing

struct TokenBucketTests {
    @Test func `a burst passes, then so many a second, and a part that is earned is not lost`() {
        var bucket = TokenBucket(burst: 3, perSecond: 10)
        let now: UInt64 = 5_000_000_000
        let times: [UInt64] = [0, 0, 0, 0, 99_999_999, 150_000_000, 200_000_000, 250_000_000]
        let taken = times.map { bucket.take(now: now + $0) }
        #expect(taken == [true, true, true, false, false, true, true, false])
        let later = (0..<4).map { _ in bucket.take(now: now + 10_000_000_000) }
        #expect(later == [true, true, true, false])
    }

    @Test func `a rate of zero still admits one a second`() {
        var bucket = TokenBucket(burst: 0, perSecond: 0)
        let taken = [0, 0, 1_000_000_000].map { bucket.take(now: $0) }
        #expect(taken == [true, false, true])
    }
}
