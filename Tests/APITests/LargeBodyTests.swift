import EventLoops
import TestSupport
import Testing

/// Bodies that are read where no loop waits are answered like small ones.
@Suite(.serialized)
struct LargeBodyTests {
    /// A letter with millions of accents is one character, which is slow to compare and to trim.
    private static let accented = "a" + String(repeating: "\u{301}", count: 4 << 20)

    private static let bodies = [
        (#"{"text":"x","session":"\#(accented)"}"#, 422, "session"), (#"{"\#(accented)":0,"text":"x"}"#, 202, nil),
        (#"{"\#(accented)":0}"#, 422, nil), (#"{"text":"\#(accented)"}"#, 413, nil),
    ]

    private static func takeTurn(on loop: isolated EventLoop) async {
        await withCheckedContinuation { continuation in loop.post { _ in continuation.resume() } }
    }

    @Test(.timeLimit(.minutes(20)), arguments: bodies.indices)
    func `a name or a text of millions of accents gets its answer`(place: Int) async throws {
        let (body, status, field) = Self.bodies[place]
        try await withAPI { api, loop in
            let request = try await api.open("POST", "/v1/messages", Field.json, body: body, on: loop)
            while !request.hasEnded { await Self.takeTurn(on: loop) }
            try await api.bench.settle(on: loop)
            let answer = try #require(request.answer)
            #expect(answer.status == status)
            if let field { #expect(answer["field"] == field) }
        }
    }
}
