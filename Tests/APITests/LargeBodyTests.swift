import EventLoops
import TestSupport
import Testing

/// The loop serves others while a large body is read.
@Suite(.serialized)
struct LargeBodyTests {
    /// The longest time between two turns of the loop.
    private final class LongestTurn {
        private(set) var time = Duration.zero
        private var last = ContinuousClock.now
        private var isOver = false

        func watch(on loop: isolated EventLoop) {
            let now = ContinuousClock.now
            (last, time) = (now, max(time, now - last))
            guard !isOver else { return }
            let this = LoopBound(self, on: loop)
            loop.post { loop in this.value(on: loop)?.watch(on: loop) }
        }

        func end() { isOver = true }
    }

    /// A letter with millions of accents is one character, which is slow to compare and to trim.
    private static let accented = "a" + String(repeating: "\u{301}", count: 4 << 20)

    private static let bodies = [
        (#"{"text":"x","session":"\#(accented)"}"#, 422), (#"{"\#(accented)":0,"text":"x"}"#, 202),
        (#"{"\#(accented)":0}"#, 422),
    ]

    private static func takeTurn(on loop: isolated EventLoop) async {
        await withCheckedContinuation { continuation in loop.post { _ in continuation.resume() } }
    }

    @Test(.timeLimit(.minutes(2)), arguments: bodies.indices)
    func `a large message holds the loop for a small part of its time`(place: Int) async throws {
        let (body, status) = Self.bodies[place]
        try await withAPI { api, loop in
            let start = ContinuousClock.now
            let turn = LongestTurn()
            turn.watch(on: loop)
            let request = try await api.open("POST", "/v1/messages", Field.json, body: body, on: loop)
            while !request.hasEnded { await Self.takeTurn(on: loop) }
            turn.end()
            // The turn that is still queued.
            await Self.takeTurn(on: loop)
            #expect(request.answer?.status == status)
            let time = ContinuousClock.now - start
            #expect(turn.time < time / 2, "\(turn.time) of \(time)")
        }
    }
}
