import Gateway
import Testing

@testable import Upstream

/// A gateway that sends mutated frames: for any input, the machine keeps its rules.
struct LinkMachineFuzzTests {
    static let frames = [
        #"{"type":"event","event":"chat","payload":{"runId":"r","state":"delta","seq":3},"seq":12,"stateVersion":{"presence":1,"health":2}}"#,
        #"{"type":"event","event":"shutdown","payload":{"reason":"x","restartExpectedMs":1500},"seq":13}"#,
        #"{"type":"res","id":"a-1","ok":false,"error":{"code":"UNAVAILABLE","message":"m","retryable":true,"retryAfterMs":500,"details":{"code":"X"}}}"#,
        #"{"type":"res","id":"a-1","ok":true,"payload":{"type":"hello-ok","protocol":4,"policy":{"maxPayload":26214400,"tickIntervalMs":30000}}}"#,
        #"{"type":"event","event":"connect.challenge","payload":{"nonce":"n","ts":1767225600000}}"#,
    ]

    @Test(arguments: 0..<8)
    func `mutated frames at every stage`(_ seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed))
        for round in 0..<60 {
            var link = try LinkHarness(log: FrameLog(maxEntries: 20, maxBytes: 4_000))
            link.upgrade()
            if round % 3 > 0 { link.challenge() }
            if round % 3 > 1 { link.sayHello() }
            link.call(1, timeoutMs: 1_000)
            for _ in 0..<20 {
                var bytes = Array(Self.frames[Int(random.next() % 5)].utf8)
                for _ in 0..<(random.next() % 6) {
                    let place = Int(random.next() % UInt64(bytes.count))
                    bytes[place] = UInt8(truncatingIfNeeded: random.next() % 128)
                }
                link.say(String(decoding: bytes, as: UTF8.self))
                if random.next() % 4 == 0 { link.advanceToWake() }
            }
            link.perform(link.machine.stop(now: link.now))
            #expect(link.machine.wakeAt == nil)
            #expect(link.outcomes.count == 1)
            #expect((link.machine.log?.count ?? 0) <= 20)
        }
    }
}
