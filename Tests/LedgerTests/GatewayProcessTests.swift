import Basics
import Ledger
import Testing

struct GatewayProcessTests {
    private static let base: Int64 = 1_795_000_000_000

    /// A process as a hello shows it.
    private func seen(
        startedMs: Int64,
        atMs: Int64,
        wallSet: Int64 = 0,
        slept: Int64 = 0,
        bootID: String? = nil,
        epoch: String? = nil,
        openingMs: Int64? = nil
    ) -> GatewayProcess {
        GatewayProcess(
            bootID: bootID,
            ageMs: atMs - startedMs,
            gatewayTime: Timestamp(milliseconds: Self.base + atMs + wallSet),
            monotonicMs: atMs - slept,
            epoch: epoch,
            openingMs: openingMs
        )
    }

    @Test(arguments: [(0, .either), (900, .either), (1_500, .either), (2_500, .other)] as [(Int64, Continuity)])
    func `another start time is another process unless it may be the travel time`(
        apart: Int64,
        relation: Continuity
    ) {
        let before = seen(startedMs: 0, atMs: 2_000)
        #expect(before.continuity(to: seen(startedMs: apart, atMs: 9_000)) == relation)
    }

    /// `restart-in-process.v2026.3.1` and `.v2026.6.11`: the uptime counts on.
    @Test func `an equal start does not say that the gateway was not restarted inside its process`() {
        #expect(seen(startedMs: 0, atMs: 10_652).continuity(to: seen(startedMs: 0, atMs: 12_778)) == .either)
    }

    @Test func `a gateway that starts fast may start twice within the travel time`() {
        #expect(seen(startedMs: 0, atMs: 300).continuity(to: seen(startedMs: 1_000, atMs: 1_200)) == .either)
    }

    @Test(
        arguments: [(100, .either), (160, .other), (900, .other), (1_500, .other)] as [(Int64, Continuity)]
    )
    func `where the opening was short, a short time between two starts is enough`(apart: Int64, relation: Continuity) {
        let before = seen(startedMs: 0, atMs: 300, openingMs: 20)
        #expect(before.continuity(to: seen(startedMs: apart, atMs: apart + 300, openingMs: 30)) == relation)
        let slow = seen(startedMs: apart, atMs: apart + 1_900, openingMs: 1_800)
        #expect(before.continuity(to: slow) == .either, "the uptime may have been under way all the time")
    }

    @Test func `clocks of a long-lived process drift apart`() {
        let before = seen(startedMs: 0, atMs: 300, openingMs: 20)
        let later = GatewayProcess(
            ageMs: 3_600_000,
            gatewayTime: Timestamp(milliseconds: Self.base + 3_601_000),
            monotonicMs: 3_601_000,
            openingMs: 20
        )
        #expect(before.continuity(to: later) == .either)
    }

    @Test func `our clock goes on over a restart of Ladle, and not over one of the machine`() throws {
        let before = seen(startedMs: 0, atMs: 300, epoch: "a", openingMs: 20)
        let kept = GatewayProcess(bootID: nil, startedAt: before.startedAt, own: before.own)
        #expect(kept.continuity(to: seen(startedMs: 400, atMs: 700, epoch: "a", openingMs: 20)) == .other)
        #expect(kept.continuity(to: seen(startedMs: 400, atMs: 700, epoch: "b", openingMs: 20)) == .either)
        let set = seen(startedMs: 0, atMs: 900, wallSet: 3_600_000, epoch: "a", openingMs: 20)
        #expect(kept.continuity(to: set) == .either, "a clock that was set")
    }

    @Test func `an older gateway that took the place of this one is not told from it`() {
        #expect(seen(startedMs: 0, atMs: 5_000).continuity(to: seen(startedMs: -3_600_000, atMs: 9_000)) == .either)
    }

    @Test func `a clock that was set makes no other process, nor does a machine that slept`() {
        let before = seen(startedMs: 0, atMs: 5_000)
        #expect(before.continuity(to: seen(startedMs: 0, atMs: 9_000, wallSet: 3_600_000)) == .either)
        #expect(before.continuity(to: seen(startedMs: 0, atMs: 9_000, wallSet: -3_600_000)) == .either)
        #expect(before.continuity(to: seen(startedMs: 0, atMs: 3_609_000, slept: 3_600_000)) == .either)
    }

    @Test func `a boot id decides, whatever the clocks say`() {
        let before = seen(startedMs: 0, atMs: 5_000, bootID: "a")
        #expect(before.continuity(to: seen(startedMs: 3_000_000, atMs: 3_009_000, bootID: "a")) == .same)
        #expect(before.continuity(to: seen(startedMs: 0, atMs: 9_000, bootID: "b")) == .other)
        #expect(before.continuity(to: seen(startedMs: 0, atMs: 9_000)) == .either, "the newer release was taken back")
    }

    @Test func `without an uptime nothing is known`() {
        let unknown = GatewayProcess(ageMs: nil, gatewayTime: Timestamp(milliseconds: 0), monotonicMs: 0)
        #expect(unknown.continuity(to: seen(startedMs: 0, atMs: 9_000)) == .either)
        #expect(seen(startedMs: 0, atMs: 9_000).continuity(to: unknown) == .either)
    }

    @Test func `a process that was kept without our clock is compared by the gateway's alone`() {
        let kept = GatewayProcess(bootID: nil, startedAt: Timestamp(milliseconds: Self.base), own: nil)
        #expect(kept.continuity(to: seen(startedMs: 0, atMs: 9_000)) == .either)
        #expect(kept.continuity(to: seen(startedMs: 5_000, atMs: 9_000)) == .other)
    }
}
