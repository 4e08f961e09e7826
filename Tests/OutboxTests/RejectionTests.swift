import Outbox
import Testing

struct `A refusal of the gateway` {
    @Test(
        arguments: [
            ("UNAVAILABLE", "", nil, nil, true), ("AGENT_TIMEOUT", "", nil, nil, true),
            ("RATE_LIMITED", "", nil, nil, true), ("SOMETHING_NEW", "", nil, nil, true),
            ("UNAVAILABLE", "", true, nil, true), ("UNAVAILABLE", "", false, nil, false),
            ("SOMETHING_NEW", "", false, nil, false), ("INVALID_REQUEST", "", nil, nil, false),
            ("INVALID_REQUEST", "", true, nil, false), ("FORBIDDEN", "", true, nil, false),
            ("MISSING_SCOPE", "", true, nil, false), ("UNAVAILABLE", "missing scope: operator.write", true, nil, false),
            ("NOT_FOUND", "", nil, nil, false), ("NOT_FOUND", "", true, nil, true), ("CONFLICT", "", nil, nil, false),
            ("PAYLOAD_TOO_LARGE", "", nil, nil, false), ("POLICY_DENIED", "", nil, nil, false),
            ("X", "", nil, 429, true), ("X", "", nil, 500, true), ("X", "", nil, 503, true), ("X", "", nil, 404, false),
            ("X", "", nil, 413, false), ("invalid_request", "", nil, nil, false),
        ] as [(String, String, Bool?, Int?, Bool)]
    )
    func `is tried again or not`(code: String, message: String, retryable: Bool?, status: Int?, transient: Bool) {
        let rejection = GatewayRejection(code: code, message: message, retryable: retryable, status: status)
        #expect(rejection.isTransient == transient)
    }

    @Test func `that is final fails the entry at the first attempt`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.enqueue("b")
        world.answer(.rejected(GatewayRejection(code: "INVALID_REQUEST", message: "bad thinking level")), to: "a")
        #expect(world.state("a") == .failed)
        #expect(world.disk["a"]?.attemptCount == 1)
        #expect(world.disk["a"]?.fault == OutboxFault(code: "INVALID_REQUEST", detail: "bad thinking level"))
        #expect(world.sent == ["a", "b"], "a failed entry does not hold up the next")
    }

    @Test func `that may be remembered under the key is followed by a new key, a limit by the same`() {
        for (code, key) in [("UNAVAILABLE", "a-r2"), ("RATE_LIMITED", "a")] {
            var world = World()
            world.online()
            world.enqueue("a")
            world.answer(.rejected(GatewayRejection(code: code, message: "later")), to: "a")
            world.pass(1_000)
            #expect(world.dispatches.map(\.attempt.key) == ["a", key])
            #expect(world.attempts["a"]?.first?.key == "a")
        }
    }
}
