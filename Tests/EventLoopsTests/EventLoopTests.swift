import POSIX
import Synchronization
import TestSupport
import Testing

@testable import EventLoops

/// A value that several closures change.
private final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { value.withLock { body(&$0) } }
}

struct EventLoopTests {
    @Test(arguments: [9_223_372_036_854, 18_446_744_073_709, Int64.max])
    func `a time too long to count is never, not now`(milliseconds: Int64) async throws {
        let loop = try EventLoop()
        loop.start()
        let fired = Inbox<Int>()
        loop.post { loop in
            loop.after(milliseconds: milliseconds) { fired.put(1) }
            loop.after(milliseconds: 1) { fired.put(0) }
        }
        #expect(try await fired.next() == 0)
        #expect(await loop.armedTimers == 1)
        await loop.stop()
    }

    @Test func `posts from one thread run in order, beside awaits, and none is lost`() async throws {
        let loop = try EventLoop()
        loop.start()
        let seen = Shared<[Int]>([])
        let inbox = Inbox<Int>()
        for number in 0..<20_000 {
            loop.post { _ in
                seen.withLock { $0.append(number) }
                if number == 19_999 { inbox.put(number) }
            }
            if number % 1000 == 0 { _ = await loop.now }
        }
        _ = try await inbox.next()
        #expect(seen.withLock { $0 } == Array(0..<20_000))
        await loop.stop()
    }

    @Test func `work that keeps a loop busy does not starve the posts that it leads to`() async throws {
        /// Work that takes at least five times the budget of posts, and causes posts that take twice that budget.
        final class Busy: TurnEndWork {
            private let done = Shared(0)
            private let end: Inbox<Int>
            private var turns = 0
            private var most = 0

            init(_ end: Inbox<Int>) { self.end = end }

            private static func spend(_ nanoseconds: UInt64) {
                let start = HostClock.monotonicNanoseconds
                while HostClock.monotonicNanoseconds &- start < nanoseconds {}
            }

            func turnEnded(on loop: isolated EventLoop) {
                Self.spend(1_000_000)
                for _ in 0..<20 {
                    loop.post { [done] _ in
                        Self.spend(20_000)
                        done.withLock { $0 += 1 }
                    }
                }
                turns += 1
                most = max(most, turns * 20 - done.withLock { $0 })
                if turns < 100 { loop.whenTurnEnds(self) } else { end.put(most) }
            }
        }
        let loop = try EventLoop()
        loop.start()
        let end = Inbox<Int>()
        loop.post { loop in loop.whenTurnEnds(Busy(end)) }
        #expect(try await end.next() < 400)
        await loop.stop()
    }

    @Test func `work posted after stop still runs, in order`() async throws {
        let loop = try EventLoop()
        loop.start()
        await loop.stop()
        let inbox = Inbox<Int>()
        for number in 0..<100 { loop.post { _ in inbox.put(number) } }
        #expect(try await inbox.next(100) == Array(0..<100))
        _ = await loop.now
    }

    @Test func `a stopped loop lets go of what its timers hold`() async throws {
        final class Held {
            let inbox: Inbox<String>
            init(_ inbox: Inbox<String>) { self.inbox = inbox }
            deinit { inbox.put("freed") }
        }
        let loop = try EventLoop()
        loop.start()
        let inbox = Inbox<String>()
        loop.post { loop in
            let held = Held(inbox)
            loop.after(milliseconds: 3_600_000) { withExtendedLifetime((held, loop)) {} }
        }
        await loop.stop()
        #expect(try await inbox.next() == "freed")
    }

    @Test func `timers fire by deadline, cancelled ones never`() async throws {
        let loop = try EventLoop()
        loop.start()
        let inbox = Inbox<String>()
        loop.post { loop in
            loop.after(milliseconds: 30) { inbox.put("late") }
            let gone = loop.after(milliseconds: 5) { inbox.put("cancelled") }
            loop.after(milliseconds: 10) { inbox.put("early") }
            loop.after(milliseconds: 0) { inbox.put("now") }
            loop.cancel(gone)
        }
        #expect(try await inbox.next(3) == ["now", "early", "late"])
        await loop.stop()
    }

    @Test func `a turn's end comes once for each asking, after the posts of the turn`() async throws {
        final class Gatherer: TurnEndWork {
            var pending: [Int] = []
            let inbox: Inbox<[Int]>
            init(_ inbox: Inbox<[Int]>) { self.inbox = inbox }
            func add(_ number: Int, on loop: isolated EventLoop) {
                if pending.isEmpty { loop.whenTurnEnds(self) }
                pending.append(number)
            }
            func turnEnded(on loop: isolated EventLoop) {
                inbox.put(pending)
                pending = []
            }
        }
        let loop = try EventLoop()
        loop.start()
        let inbox = Inbox<[Int]>()
        loop.post { loop in
            let gatherer = Gatherer(inbox)
            for number in 0..<3 { gatherer.add(number, on: loop) }
        }
        #expect(try await inbox.next() == [0, 1, 2])
        await loop.stop()
    }

    @Test func `forty loops at once answer each`() async throws {
        let loops = try (0..<40).map { _ in try EventLoop() }
        for loop in loops { loop.start() }
        for loop in loops { _ = await loop.now }
        for loop in loops { await loop.stop() }
    }

    @Test func `a wrong loop traps`() async {
        await #expect(processExitsWith: .failure) {
            let first = try EventLoop()
            let second = try EventLoop()
            first.start()
            second.start()
            await first.use { loop in
                let bound = LoopBound([1], on: loop)
                second.post { _ = bound.value(on: $0) }
            }
            try await Task.sleep(for: .seconds(5))
        }
    }
}

struct EventLoopFlowTests {
    private func onLoop<Value: Sendable>(
        _ body: @escaping @Sendable (isolated EventLoop, Inbox<Value>) -> Void
    ) async throws -> Value {
        let loop = try EventLoop()
        loop.start()
        let inbox = Inbox<Value>()
        loop.post { body($0, inbox) }
        let value = try await inbox.next()
        #expect(await loop.flowsInMotion == 0)
        await loop.stop()
        return value
    }

    @Test func `a flow runs at once up to its first wait, and goes on where it began`() async throws {
        let seen: [String] = try await onLoop { loop, inbox in
            var seen: [String] = []
            loop.start {
                seen.append("begun")
                let answer = await loop.wait { (answer: @escaping (Int) -> Void) in
                    _ = loop.after(milliseconds: 1) { answer(7) }
                }
                loop.preconditionIsolated()
                seen.append("\(answer)")
                inbox.put(seen)
            }
            seen.append("started")
        }
        #expect(seen == ["begun", "started", "7"])
    }

    @Test func `the result of a flow comes within its time`() async throws {
        let value: Int? = try await onLoop { loop, inbox in
            loop.start {
                let value = await loop.within(milliseconds: .max) {
                    await loop.wait { (end: @escaping () -> Void) in _ = loop.after(milliseconds: 1, end) }
                    return 7
                }
                inbox.put(value)
            }
        }
        #expect(value == 7)
    }

    @Test func `a flow that takes long goes on without its caller`() async throws {
        let seen: [String] = try await onLoop { loop, inbox in
            var seen: [String] = []
            var release: (() -> Void)?
            loop.start {
                let value = await loop.within(milliseconds: 1) {
                    await loop.wait { (end: @escaping () -> Void) in release = end }
                    seen.append("done")
                    inbox.put(seen)
                    return 7
                }
                seen.append(value == nil ? "late" : "in time")
                release?()
            }
        }
        #expect(seen == ["late", "done"])
    }
}

extension EventLoop {
    func use(_ body: @Sendable (isolated EventLoop) -> Void) { body(self) }
}

struct TimerQueueTests {
    @Test func `order is by deadline, then by making`() {
        var queue = TimerQueue<Int>()
        var ids: [TimerID] = []
        for number in 0..<500 { ids.append(queue.add(deadline: UInt64((number * 7919) % 101), number)) }
        for number in stride(from: 0, to: 500, by: 3) { queue.cancel(ids[number]) }
        var fired: [Int] = []
        while let number = queue.popDue(now: 1000) { fired.append(number) }
        let expected = (0..<500).filter { $0 % 3 != 0 }.sorted { (($0 * 7919) % 101, $0) < (($1 * 7919) % 101, $1) }
        #expect(fired == expected)
        #expect(queue.nextDeadline() == nil)
    }

    @Test func `nothing fires before its time`() {
        var queue = TimerQueue<Int>()
        _ = queue.add(deadline: 10, 1)
        #expect(queue.popDue(now: 9) == nil)
        #expect(queue.nextDeadline() == 10)
        #expect(queue.popDue(now: 10) == 1)
    }
}

struct SocketAddressTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:80", true), ("::1", "[::1]:80", true),
        ("2001:db8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]:80", false),
        ("fe80::", "[fe80::]:80", false), ("::", "[::]:80", false), ("::ffff:127.0.0.9", "127.0.0.9:80", true),
        ("100.100.1.2", "100.100.1.2:80", false),
    ]) func `addresses print as RFC 5952 says`(text: String, printed: String, loopback: Bool) {
        let address = SocketAddress(host: text, port: 80)
        #expect(address?.description == printed)
        #expect(address?.isLoopback == loopback)
    }
}
