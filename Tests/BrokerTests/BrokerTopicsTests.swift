import Basics
import TestSupport
import Testing

@testable import Broker

func denTopics() throws -> BrokerTopics { try BrokerTopics(prefix: "ladle", name: "den") }

struct BrokerTopicsTests {
    @Test func `topics stand below prefix and name`() throws {
        let topics = try denTopics()
        #expect(topics.status == "ladle/den/status")
        #expect(topics.event("run.started") == "ladle/den/events/run.started")
        #expect(topics.eventsReset == "ladle/den/events/reset")
        #expect(topics.haRun == "ladle/den/ha/run")
        #expect(topics.session("main") == "ladle/den/sessions/main")
        #expect(topics.discovery("ladle_0199f3a1") == "homeassistant/device/ladle_0199f3a1/config")
        #expect(topics.discovery("a/b+c") == "homeassistant/device/a_b_c/config")
    }

    @Test(arguments: HostileText.pieces)
    func `a session's key is one legal level, and is read back`(key: String) throws {
        let topics = try denTopics()
        let topic = topics.session(key)
        #expect(DiscoveryCheck.isTopic(topic))
        let level = Substring(topic.utf8.dropFirst("ladle/den/sessions/".utf8.count))
        #expect(!level.isEmpty)
        if let text = TopicLevel.unescape(level) {
            #expect(text.isSameText(as: key))
        } else {
            #expect(key.isEmpty || level.contains("%~"))
        }
    }

    @Test func `every key of many gives a legal topic, and different keys different ones`() throws {
        let topics = try BrokerTopics(prefix: "a/b", name: String(repeating: "n", count: 64))
        var random = SeededRandom(7)
        var keys: [String: SessionKey] = [:]
        for _ in 0..<500 {
            let key = SessionKey(canonical: HostileText.make(&random))
            let topic = topics.session(key.text)
            #expect(DiscoveryCheck.isTopic(topic))
            #expect(keys[topic, default: key] == key)
            keys[topic] = key
        }
    }

    @Test func `a key that is too long keeps its beginning and ends in a hash`() {
        let key = "agent:main:" + String(repeating: "+", count: 300)
        let level = TopicLevel.escape(key, limit: 100)
        #expect(level.utf8.count <= 100 && level.hasPrefix("agent:main:%2B") && level.contains("%~"))
        #expect(level == TopicLevel.escape(key, limit: 100))
        #expect(level != TopicLevel.escape(key + "+", limit: 100))
        #expect(TopicLevel.unescape(level) == nil)
    }

    @Test func `filters follow the scopes and are disjoint`() throws {
        let topics = try denTopics()
        #expect(topics.filters(.read, isDiscovering: false).isEmpty)
        #expect(topics.filters(.read, isDiscovering: true) == ["homeassistant/status"])
        #expect(
            topics.filters(.all, isDiscovering: true) == [
                "ladle/den/send", "ladle/den/send/+", "ladle/den/cmd/send", "ladle/den/cmd/abort",
                "ladle/den/cmd/retry", "ladle/den/cmd/approvals", "ladle/den/cmd/approvals/deny",
                "ladle/den/cmd/session", "homeassistant/status",
            ]
        )
        #expect(
            topics.unwantedFilters([.read, .approvals, .send], isDiscovering: false)
                == ["ladle/den/cmd/session", "homeassistant/status"]
        )
    }

    @Test(arguments: [
        ("", TopicProblem.empty), ("a//b", .emptyLevel), ("/a", .emptyLevel), ("a/", .emptyLevel), ("a+", .wildcard),
        ("#", .wildcard), ("$SYS", .dollar), ("a\u{0}", .control), ("a\u{85}", .control),
        (String(repeating: "x", count: 65), .tooLong(bytes: 64)), ("a/b/c/d", .tooManyLevels(limit: 3)),
    ])
    func `a prefix that is no topic is refused`(prefix: String, problem: TopicProblem) {
        #expect(throws: problem) { try BrokerTopics(prefix: prefix, name: "den") }
    }

    @Test(arguments: [
        ("Kitchen-Pi.local", "kitchen-pi"), ("", "ladle"), ("_x_", "x"), ("Büro", "b-ro"), ("--", "ladle"),
        ("a b", "a-b"),
    ])
    func `the default name comes from the host`(host: String, name: String) {
        #expect(BrokerTopics.defaultName(host: host) == name)
    }

    @Test(arguments: [
        ("phones/1/answers", true), ("ladle/den/results", true), ("ladle/den/results/x", true), ("", false),
        ("$SYS/x", false), ("a/+/b", false), ("a#", false), ("homeassistant/device/x/config", false),
        ("homeassistant", false), ("homeassistants/x", true), ("ladle/den/send", false), ("ladle/den/cmd/abort", false),
        ("ladle/den/status", false), ("ladle/attic/send/main", false), ("ladle", false), ("ladles/x", true),
        ("a\u{0}b", false),
    ])
    func `a response topic has no meaning to others`(topic: String, isAllowed: Bool) throws {
        let topics = try denTopics()
        #expect(topics.allowsResponse(to: topic) == isAllowed)
    }

    @Test func `a prefix for answers narrows them, and opens its own tree below Ladle's prefix`() throws {
        let topics = try denTopics()
        #expect(topics.allowsResponse(to: "answers/1", below: "answers"))
        #expect(!topics.allowsResponse(to: "phones/1", below: "answers"))
        #expect(!topics.allowsResponse(to: "answersx", below: "answers"))
        #expect(topics.allowsResponse(to: "ladle/answers/1", below: "ladle/answers"))
        #expect(!topics.allowsResponse(to: "ladle/attic/send", below: "ladle/attic"))
        #expect(!topics.allowsResponse(to: "ladle/den/status", below: "ladle/den"))
    }

    @Test func `scopes are read by name, and others refused`() throws {
        #expect(try BrokerScopes(names: ["read", "approvals"]) == [.read, .approvals])
        #expect(throws: BrokerScopes.Problem.unknown("sent", nearest: "send")) { try BrokerScopes(names: ["sent"]) }
        #expect(throws: BrokerScopes.Problem.notOverBroker("admin")) { try BrokerScopes(names: ["admin"]) }
        #expect(BrokerScopes.all.names == ["read", "send", "control", "approvals"])
        #expect(!BrokerScopes.read.takesCommands && BrokerScopes.control.takesCommands)
    }
}
