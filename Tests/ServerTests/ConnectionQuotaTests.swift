import Basics
import EventLoops
import Testing

@testable import Server

struct ConnectionQuotaTests {
    private static func quota(_ connections: Int, perPeer: Int = 256) -> ConnectionQuota {
        var limits = ServerLimits()
        limits.connections = connections
        limits.connectionsPerPeer = perPeer
        limits.owner = 1000
        return ConnectionQuota(limits)
    }

    private static func user(_ uid: UInt32?, _ kind: ListenerKind = .tcp) -> ConnectionInfo {
        let loopback = SocketAddress.ip(.loopback4, port: 1)
        return ConnectionInfo(listener: kind, remote: loopback, local: loopback, user: uid)
    }

    private static func remote(_ text: String) -> ConnectionInfo {
        let address = SocketAddress(host: text, port: 1) ?? .unix(path: "")
        return ConnectionInfo(listener: .tcp, remote: address, local: .ip(.loopback4, port: 1))
    }

    @Test func `others leave slots that only the owner can take`() {
        var quota = Self.quota(400)
        var taken = 0
        for uid in 0..<100 as Range<UInt32> {
            for _ in 0..<10 where quota.take(Self.user(2000 + uid)) != nil { taken += 1 }
        }
        #expect(taken == 400 - ConnectionQuota.mostForOwner)
        let mine = (0..<ConnectionQuota.mostForOwner).map { _ in quota.take(Self.user(1000)) }
        #expect(mine.allSatisfy { $0 == .owner })
        #expect(quota.take(Self.user(1000)) == .refused)
        #expect(quota.take(Self.user(7)) == nil)
    }

    @Test(arguments: [true, false])
    func `clients that left before they were looked up take no slot of the owner, where users have names`(named: Bool) {
        var limits = ServerLimits()
        (limits.connections, limits.connectionsPerPeer, limits.owner, limits.namesUsers) = (40, 30, 1000, named)
        var quota = ConnectionQuota(limits)
        let taken = (0..<60).count { _ in [.owner, .foreign].contains(quota.take(Self.user(nil))) }
        #expect(taken == (named ? 30 : 40))
        #expect(quota.take(Self.user(1000)) == (named ? .owner : .refused))
    }

    @Test func `the owner over the limit hears why, a few times`() {
        var quota = Self.quota(4)
        let slots = (0..<40).map { _ in quota.take(Self.user(1000)) }
        #expect(slots.count { $0 == .owner } == 4)
        #expect(slots.count { $0 == .refused } == ConnectionQuota.mostRefused)
        #expect(slots.last == .some(nil))
    }

    @Test func `one holder has a limit, given back with each connection`() {
        var quota = Self.quota(100, perPeer: 2)
        for one in [Self.user(7), Self.user(0, .unix), Self.remote("192.0.2.1"), Self.remote("2001:db8::1")] {
            #expect([quota.take(one), quota.take(one), quota.take(one)] == [.foreign, .foreign, nil])
            quota.giveBack(.foreign, of: one)
            #expect([quota.take(one), quota.take(one)] == [.foreign, nil])
        }
        // The owner of one IPv6 address has its whole network.
        #expect(quota.take(Self.remote("2001:db8::2")) == nil)
        #expect(quota.take(Self.remote("2001:db8:0:1::1")) == .foreign)
    }

    @Test func `the control socket has slots beside all others`() {
        var quota = Self.quota(1)
        #expect(quota.take(Self.user(1000)) == .owner)
        let commands = (0...ConnectionQuota.forControl).map { _ in quota.take(Self.user(1000, .control)) }
        #expect(commands.dropLast().allSatisfy { $0 == .control })
        #expect(commands.last == .refused)
        quota.giveBack(.control, of: Self.user(1000, .control))
        #expect(quota.take(Self.user(1000, .control)) == .control)
    }
}
