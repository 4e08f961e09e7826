import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Broker

struct BrokerDiscoveryTests {
    private func settings(_ scopes: BrokerScopes = .all, name: String = "Ladle kitchen") throws
        -> BrokerDiscovery.Settings
    {
        BrokerDiscovery.Settings(
            id: "ladle_0199f3a1",
            name: name,
            version: "1.4.0",
            url: "https://example.com/ladle",
            topics: try denTopics(),
            scopes: scopes,
            text: .full,
            hasUsage: true,
            hasApprovals: true,
            sessions: [.init(key: "agent:main:den", label: "Den", models: ["a/b"], thinkingLevels: ["low", "high"])]
        )
    }

    @Test func `the description keeps Home Assistant's rules`() throws {
        let discovery = BrokerDiscovery(try settings())
        let payload = discovery.payload()
        #expect(DiscoveryCheck.problems(in: payload).isEmpty)
        #expect(discovery.topic == "homeassistant/device/ladle_0199f3a1/config")
        let root = try JSONDocument(parsing: payload).root
        #expect(root["cmps"]?.members.map(\.key).sorted() == discovery.keys)
        #expect(discovery.keys.count == 22)
        let link = root["cmps"]?["link"]
        #expect(link?["ops"]?.elements.compactMap(\.string) == BrokerLink.State.allCases.map(\.rawValue))
        #expect(link?["ent_cat"]?.string == "diagnostic" && link?["unique_id"]?.string == "ladle_0199f3a1_link")
        #expect(root["cmps"]?["run"]?["availability"]?.count == 0)
        #expect(root["cmps"]?["deny_all"]?["en"]?.bool == false)
        #expect(root["cmps"]?["abort"]?["pl_prs"]?.string == #"{"all":true}"#)
    }

    @Test func `entities follow scopes and settings`() throws {
        var plain = try settings(.read)
        plain.hasUsage = false
        plain.hasApprovals = false
        plain.text = .none
        let keys = BrokerDiscovery(plain).keys
        #expect(
            keys == [
                "active_runs", "activity", "last_error", "last_reply_at", "link", "outbox_pending", "outbox_problem",
                "run", "version", "working",
            ]
        )
        var watching = plain
        watching.hasApprovals = true
        #expect(Set(BrokerDiscovery(watching).keys).subtracting(keys) == ["approvals", "approval"])
        var deciding = plain
        deciding.scopes = .approvals
        #expect(BrokerDiscovery(deciding).keys == keys)
    }

    @Test func `an entity that goes leaves a tombstone of its platform`() throws {
        let all = BrokerDiscovery(try settings()).keys
        let plain = BrokerDiscovery(try settings(.read))
        let root = try JSONDocument(parsing: plain.payload(tombstones: all)).root
        #expect(root["cmps"]?["message"]?.raw.elementsEqual(#"{"p":"notify"}"#.utf8) == true)
        #expect(root["cmps"]?["abort"]?["p"]?.string == "button")
        #expect((root["cmps"]?["link"]?.count ?? 0) > 1)
        #expect(
            root["cmps"]?.members.filter { $0.key.hasPrefix("session_") }.allSatisfy {
                $0.value["p"]?.string == "select"
            } == true
        )
        #expect(DiscoveryCheck.problems(in: plain.payload(tombstones: all)).isEmpty)
    }

    @Test(arguments: ["Run", "l", "M", "", "\u{1B}", "Ladle"])
    func `no entity begins with the device's name`(name: String) throws {
        #expect(DiscoveryCheck.problems(in: BrokerDiscovery(try settings(name: name)).payload()).isEmpty)
    }

    @Test func `hostile names and sessions keep the rules and the limit`() throws {
        var random = SeededRandom(3)
        for _ in 0..<20 {
            var hostile = try settings(name: HostileText.make(&random))
            hostile.id = HostileText.make(&random)
            hostile.version = HostileText.make(&random)
            hostile.url = "https://" + HostileText.make(&random)
            hostile.configurationURL = HostileText.make(&random)
            hostile.sessions = (0..<40).map { _ in
                BrokerDiscovery.Session(
                    key: HostileText.make(&random),
                    label: HostileText.make(&random),
                    models: (0..<5).map { _ in HostileText.make(&random) },
                    thinkingLevels: ["low"]
                )
            }
            let discovery = BrokerDiscovery(hostile)
            let problems = DiscoveryCheck.problems(in: discovery.payload(tombstones: ["session_x", "a/b"]))
            #expect(problems.isEmpty)
        }
    }
}
