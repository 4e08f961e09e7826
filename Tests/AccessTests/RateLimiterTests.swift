import Access
import Basics
import Testing

struct RateLimiterTests {
    @Test func `a burst is admitted, then one per interval`() {
        var limiter = RateLimiter()
        let key = RateLimitKey.session(.owner(uid: 1), session: "main")
        for left in stride(from: Int64(4), through: 0, by: -1) {
            let verdict = limiter.take(.sends, key, now: 0)
            #expect(verdict.allowed)
            #expect(verdict.remaining == left)
        }
        let refused = limiter.take(.sends, key, now: 0)
        #expect(!refused.allowed)
        #expect(refused.retryAfterMilliseconds == 1000)
        #expect(!limiter.take(.sends, key, now: 999).allowed)
        #expect(limiter.take(.sends, key, now: 1000).allowed)
        #expect(!limiter.take(.sends, key, now: 1000).allowed)
        #expect(limiter.take(.sends, key, now: 60_000).remaining == 4)
    }

    @Test func `an attempt that proved good costs nothing`() {
        var limiter = RateLimiter(policies: [.auth: RateLimitPolicy(burst: 2, intervalMilliseconds: 1000)])
        for _ in 0..<10 {
            #expect(limiter.take(.auth, .uid(1), now: 0).allowed)
            limiter.giveBack(.auth, .uid(1))
        }
        limiter.giveBack(.auth, .uid(2))
        let verdicts = (0..<3).map { _ in limiter.take(.auth, .uid(1), now: 0).allowed }
        #expect(verdicts == [true, true, false])
    }

    @Test func `the headers say quota, window, rest and time to full`() {
        var limiter = RateLimiter()
        let verdict = limiter.take(.sends, .caller(.owner(uid: 1)), now: 0)
        #expect(verdict.headers.policy == "\"sends\";q=5;w=5")
        #expect(verdict.headers.limit == "\"sends\";r=4;t=1")
        #expect(RateLimitVerdict.seconds(1) == 1)
        #expect(RateLimitVerdict.seconds(1000) == 1)
        #expect(RateLimitVerdict.seconds(1001) == 2)
        #expect(RateLimitVerdict.seconds(0) == 0)
    }

    @Test func `keys and kinds have buckets of their own`() {
        var limiter = RateLimiter(policies: [.pairing: RateLimitPolicy(burst: 1, intervalMilliseconds: 1000)])
        #expect(limiter.take(.pairing, .uid(1), now: 0).allowed)
        #expect(!limiter.take(.pairing, .uid(1), now: 0).allowed)
        #expect(limiter.take(.pairing, .uid(2), now: 0).allowed)
        #expect(limiter.take(.auth, .uid(1), now: 0).allowed)
    }

    @Test func `a clock set back locks nobody out for longer than a window`() {
        var limiter = RateLimiter()
        for _ in 0..<5 { _ = limiter.take(.sends, .caller(.owner(uid: 1)), now: 1_000_000) }
        let verdict = limiter.take(.sends, .caller(.owner(uid: 1)), now: 0)
        #expect(verdict.retryAfterMilliseconds <= 5000)
        #expect(limiter.take(.sends, .caller(.owner(uid: 1)), now: verdict.retryAfterMilliseconds).allowed)
    }

    @Test func `a flood of keys neither grows the table nor frees those who are refused`() {
        var limiter = RateLimiter(capacity: 64)
        let guilty = RateLimitKey.address(.loopback4)
        for _ in 0..<10 { _ = limiter.take(.auth, guilty, now: 0) }
        #expect(!limiter.take(.auth, guilty, now: 0).allowed)
        var admitted = 0
        for index in 0..<100_000 {
            let address = NetworkAddress(high: 1, low: UInt64(index))
            if limiter.take(.auth, .address(address), now: 1).allowed { admitted += 1 }
        }
        #expect(limiter.count(of: .auth) == 64)
        #expect(admitted == 63 + 10)
        #expect(!limiter.take(.auth, guilty, now: 1).allowed)
        // Once the buckets are full again, new keys find room.
        #expect(limiter.take(.auth, .uid(7), now: 120_000).remaining == 9)
        #expect(limiter.count(of: .auth) == 1)
    }

    @Test func `policies that make no sense are brought into range`() {
        let policy = RateLimitPolicy(burst: 0, intervalMilliseconds: -5)
        #expect(policy == RateLimitPolicy(burst: 1, intervalMilliseconds: 1))
    }

    @Test func `streams are counted for tokens and not for the owner`() {
        var slots = StreamSlots(perCaller: 2)
        let caller = Caller.token(TokenCaller(id: "1", name: "n", scopes: .read))
        #expect(slots.take(caller) == true)
        #expect(slots.take(.ticket(buyer: caller, path: "/v1/events")) == true)
        #expect(slots.take(caller) == false)
        slots.release(caller)
        #expect(slots.take(caller) == true)
        for _ in 0..<100 { #expect(slots.take(.owner(uid: 0)) == true) }
    }
}
