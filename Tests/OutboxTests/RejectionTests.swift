import Outbox
import Testing

struct `A refusal of the gateway` {
    @Test(
        arguments: [
            ("UNAVAILABLE", "", nil, true), ("AGENT_TIMEOUT", "", nil, true),
            ("RATE_LIMITED", "", nil, true), ("SOMETHING_NEW", "", nil, true),
            ("UNAVAILABLE", "", true, true), ("UNAVAILABLE", "", false, false),
            ("SOMETHING_NEW", "", false, false), ("INVALID_REQUEST", "", nil, false),
            ("INVALID_REQUEST", "", true, false), ("FORBIDDEN", "", true, false),
            ("MISSING_SCOPE", "", true, false), ("UNAVAILABLE", "missing scope: operator.write", true, false),
            ("NOT_FOUND", "", nil, false), ("NOT_FOUND", "", true, true), ("CONFLICT", "", nil, false),
            ("PAYLOAD_TOO_LARGE", "", nil, false), ("POLICY_DENIED", "", nil, false),
            ("invalid_request", "", nil, false),
        ] as [(String, String, Bool?, Bool)]
    )
    func `is tried again or not`(code: String, message: String, retryable: Bool?, transient: Bool) {
        let rejection = GatewayRejection(code: code, message: message, retryable: retryable)
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
