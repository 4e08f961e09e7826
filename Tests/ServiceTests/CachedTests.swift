import Testing

@testable import Service

struct CachedTests {
    private static let second: UInt64 = 1_000_000_000

    private func keep(_ answer: String, _ question: String, in cached: inout Cached<String, String>, size: Int = 0) {
        let request = cached.ask(question)
        cached.keep(answer, to: question, request: request, size: size, lifeMs: 1_000, now: 0)
    }

    @Test func `an answer is fresh for its life, and stays as the last one`() {
        var cached = Cached<String, String>(most: 4)
        keep("a", "q", in: &cached)
        #expect(cached.fresh("q", now: Self.second - 1) == "a")
        #expect(cached.fresh("q", now: Self.second) == nil && cached.latest("q") == "a")
        #expect(cached.fresh("other", now: 0) == nil && cached.latest("other") == nil)
    }

    @Test(arguments: ["q", nil])
    func `a change makes answers old, and those that are on their way`(_ changed: String?) {
        var cached = Cached<String, String>(most: 4)
        keep("a", "q", in: &cached)
        keep("b", "other", in: &cached)
        let request = cached.ask("q")
        cached.expire(changed)
        #expect(cached.fresh("q", now: 0) == nil && cached.latest("q") == "a")
        #expect((cached.fresh("other", now: 0) == nil) == (changed == nil))
        cached.keep("c", to: "q", request: request, lifeMs: 1_000, now: 0)
        #expect(cached.fresh("q", now: 0) == nil && cached.latest("q") == "c")
        keep("d", "q", in: &cached)
        #expect(cached.fresh("q", now: 0) == "d")
    }

    @Test(arguments: ["q", nil])
    func `old answers that nobody reads take no room`(_ changed: String?) {
        var cached = Cached<String, String>(most: 4, keepsOld: false)
        keep("a", "q", in: &cached)
        let request = cached.ask("q")
        cached.expire(changed)
        #expect(cached.latest("q") == nil)
        cached.keep("c", to: "q", request: request, lifeMs: 1_000, now: 0)
        #expect(cached.latest("q") == nil)
    }

    @Test func `an answer to an earlier request replaces no fresh one`() {
        var cached = Cached<String, String>(most: 4)
        let (first, second) = (cached.ask("q"), cached.ask("q"))
        cached.keep("new", to: "q", request: second, lifeMs: 1_000, now: 0)
        cached.keep("old", to: "q", request: first, lifeMs: 1_000, now: 0)
        #expect(cached.fresh("q", now: 0) == "new")
        cached.failed("q", request: cached.ask("q"))
        #expect(cached.fresh("q", now: 0) == "new")
    }

    @Test func `the number and the size of all answers are bounded`() {
        var cached = Cached<String, String>(most: 2, mostBytes: 400)
        for name in ["a", "b"] { keep(name, name, in: &cached, size: 100) }
        cached.expire("b")
        keep("c", "c", in: &cached, size: 100)
        #expect(["a", "b", "c"].map { cached.latest($0) } == ["a", nil, "c"])
        keep("large", "a", in: &cached, size: 101)
        #expect(cached.latest("a") == "a")
        var sized = Cached<String, String>(most: 9, mostBytes: 400)
        for name in ["a", "b", "c", "d", "e"] { keep(name, name, in: &sized, size: 100) }
        #expect(["a", "b", "c", "d", "e"].count { sized.latest($0) != nil } == 4 && sized.latest("e") == "e")
    }
}
