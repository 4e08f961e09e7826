import Gateway
import JSONBytes
import Ledger
import TestSupport
import Testing

struct GatewayProfileTests {
    private func profile(_ hello: String) throws -> GatewayProfile {
        GatewayProfile(try #require(Hello(try JSONDocument(parsing: Array(hello.utf8)).root, requested: [])))
    }

    private func profile(_ methods: [String], version: Int = 4, server: String = "dev") throws -> GatewayProfile {
        let list = methods.map { "\"\($0)\"" }.joined(separator: ",")
        return try profile(
            #"{"type":"hello-ok","protocol":\#(version),"server":{"version":"\#(server)"},"features":{"methods":[\#(list)]}}"#
        )
    }

    private func recorded(_ release: String) throws -> GatewayProfile {
        let recorded = try #require(try TestData.document("gateway-methods.json")[release])
        let methods = try #require(recorded["methods"]).elements.compactMap(\.string)
        return try profile(methods, version: Int(recorded["protocol"]?.int ?? 0))
    }

    @Test func `recorded gateways can do what their releases have`() throws {
        let march = try recorded("2026.3.1")
        #expect(march.generation == .march)
        for capability in [Capability.approvals, .sessionsPatch, .sessionsCreate, .sessionsReset, .models, .usageCost] {
            #expect(march.offers(capability), "\(capability)")
        }
        for capability in [Capability.approvalsPending, .eventsSessions, .wakeSession, .usageAgents, .questions] {
            #expect(!march.offers(capability), "\(capability)")
        }
        let june = try recorded("2026.6.11")
        #expect(june.generation == .june)
        for capability in [Capability.approvalsPending, .eventsSessions, .wakeSession, .usageAgents, .nodesInvoke] {
            #expect(june.offers(capability), "\(capability)")
        }
        #expect(june.offers(.artifacts) && june.givesWholeMessages && !june.takesGrantDays)
        for capability in [
            Capability.questions, .sessionsArchive, .speech, .approvalsGrants, .approvalsHistory, .automationsWait,
        ] {
            #expect(!june.offers(capability), "\(capability)")
        }
    }

    @Test func `a hello that names its process is of the newest generation, whatever its version`() throws {
        let newest = try profile(
            #"{"type":"hello-ok","protocol":4,"server":{"version":"2027.1.1","bootId":"boot-2f7c"}}"#
        )
        #expect(newest.generation == .autumn)
        #expect(newest.keysInRows && newest.sendsRows && newest.resumesRuns)
        #expect(!newest.refusesInOldSessions && !newest.readsStoppedRows)
        #expect(newest.earlyStop == .clean && newest.queuedStop == .clean)
    }

    /// In June an answer of a gateway that drains means that the run is at work; the newest say it of a question that a restart cut off.
    @Test func `only a message that waits is in the hands of the newest gateways`() {
        let (june, autumn) = (GatewayProfile(.june), GatewayProfile(.autumn))
        #expect(june.isInHand(.queued) && autumn.isInHand(.queued))
        #expect(june.isInHand(.draining) && !autumn.isInHand(.draining))
        #expect(!june.isInHand(.unknown) && !autumn.isInHand(.unknown))
    }

    @Test func `a gateway that lists subscriptions sends rows, also on the older protocol`() throws {
        let april = try profile(["sessions.subscribe"], version: 3)
        #expect(april.generation == .april && april.sendsRows && april.pauseAfterRunMs == 500 && !april.pagesTellRuns)
        #expect(try profile([], version: 3).generation == .march)
    }

    @Test func `only versions of June refuse to run messages of old sessions`() throws {
        #expect(try profile([], server: "2026.6.11").refusesInOldSessions)
        #expect(try !profile([], server: "2026.7.2").refusesInOldSessions)
        #expect(try !profile([], server: "dev").refusesInOldSessions)
    }

    @Test func `methods that gateways answer and do not list count`() throws {
        #expect(try profile([]).offers(.usageSessions))
        #expect(try !profile([]).offers(.usageCost))
    }

    @Test func `names are sorted`() throws {
        let names = try recorded("2026.6.11").features
        #expect(names == names.sorted() && Set(names).count == names.count && names.contains("events.sessions"))
    }

    @Test(arguments: [
        (4, "2026.10.2", true), (4, "2026.9.3-beta.1", true), (4, "2027.1.1", true), (4, "2026.6.11", false),
        (4, "dev", false), (3, "2026.10.2", false), (4, "2026", false),
    ])
    func `a release counts in time zones by its age`(_ version: Int, _ name: String, _ takes: Bool) throws {
        #expect(try profile([], version: version, server: name).countsInTimeZones == takes)
    }
}
