import Basics
import Testing

@testable import Service

struct GatewayProcessTests {
    private static let base: Int64 = 1_795_000_000_000

    /// A process as a hello shows it.
    private func seen(startedMs: Int64, atMs: Int64, wallSet: Int64 = 0) -> GatewayProcess {
        GatewayProcess(
            ageMs: atMs - startedMs,
            gatewayTime: Timestamp(milliseconds: Self.base + atMs + wallSet),
            monotonicMs: atMs
        )
    }

    @Test(arguments: [(0, true), (900, true), (1_500, nil), (2_500, false)] as [(Int64, Bool?)])
    func `another start time is another process unless it may be the travel time`(apart: Int64, isSame: Bool?) {
        let before = seen(startedMs: 0, atMs: 2_000)
        #expect(before.isSame(as: seen(startedMs: apart, atMs: 9_000)) == isSame)
    }

    @Test func `a gateway that starts fast may start twice within the travel time`() {
        let before = seen(startedMs: 0, atMs: 300)
        #expect(before.isSame(as: seen(startedMs: 1_000, atMs: 1_200)) == nil)
        #expect(before.isSame(as: seen(startedMs: 100, atMs: 1_200)) == true)
    }

    @Test func `an older gateway that took the place of this one is not taken for it`() {
        let before = seen(startedMs: 0, atMs: 5_000)
        #expect(before.isSame(as: seen(startedMs: -3_600_000, atMs: 9_000)) == nil)
    }

    @Test func `a clock that was set makes no other process`() {
        let before = seen(startedMs: 0, atMs: 5_000)
        #expect(before.isSame(as: seen(startedMs: 0, atMs: 9_000, wallSet: 3_600_000)) == true)
    }
}
