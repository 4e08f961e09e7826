import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Broker

private let noon = Timestamp(milliseconds: 1_795_000_000_000)

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

struct BrokerPayloadTests {
    @Test func `state payloads have all their members`() {
        let time = noon.rfc3339
        #expect(
            text(BrokerStatus.online(version: "1.4.0", since: noon).payload)
                == #"{"state":"online","version":"1.4.0","since":"\#(time)"}"#
        )
        #expect(
            text(BrokerStatus.offline(version: "1.4.0").payload)
                == #"{"state":"offline","version":"1.4.0","since":null}"#
        )
        #expect(
            text(BrokerOutbox(pending: 1, unconfirmed: 0, failed: 2, oldestAt: nil).payload)
                == #"{"pending":1,"unconfirmed":0,"failed":2,"oldestAt":null}"#
        )
        #expect(text(BrokerApprovals.unknown) == #"{"pending":"None","list":[],"live":false}"#)
        #expect(
            text(BrokerFailure.nothing)
                == #"{"id":null,"at":null,"code":"None","detail":null,"session":null,"runId":null}"#
        )
        #expect(
            text(
                BrokerActivity(at: noon, active: 1, headline: "ls", runs: [.init(id: "r", session: "s", label: "l")])
                    .payload
            )
                == #"{"at":"\#(time)","active":1,"headline":"ls","runs":[{"id":"r","session":"s","label":"l"}]}"#
        )
        #expect(
            text(HomeAssistantRun(.completed, id: "e.1", session: "s", runID: "r", text: "done").payload(.short))
                == #"{"event_type":"completed","id":"e.1","session":"s","runId":"r","short":"done"}"#
        )
    }

    @Test func `the level of text decides what of a reply is told`() throws {
        let long = String(repeating: "wörd ", count: 5000)
        let reply = BrokerReply(id: "e.1", at: noon, session: "main", runID: "r", text: long)
        let full = try JSONDocument(parsing: reply.payload(.full)).root
        #expect(full["truncated"]?.bool == true)
        #expect((full["text"]?.utf8?.count ?? 0) <= BrokerLimits.replyTextBytes)
        #expect(full["text"]?.string.map { long.hasPrefix($0) } == true)
        #expect(full["short"]?.string?.unicodeScalars.count == 254 && full["short"]?.string?.hasSuffix("…") == true)
        let short = try JSONDocument(parsing: reply.payload(.short)).root
        #expect(short["text"]?.isNull == true && short["truncated"]?.bool == false)
        let none = try JSONDocument(parsing: reply.payload(.none)).root
        #expect(none["short"]?.string == "None" && none["text"]?.isNull == true)
        #expect(
            Set(full.members.map(\.key)) == Set(try JSONDocument(parsing: BrokerReply.nothing).root.members.map(\.key))
        )
    }

    @Test func `a short text is one line of 254 scalars`() {
        #expect(BrokerText.short("  a\nb\u{1B}[2J ") == "a b[2J")
        #expect(BrokerText.short(String(repeating: "e\u{301}", count: 127)).unicodeScalars.count == 254)
        #expect(BrokerText.short(String(repeating: "x", count: 255)) == String(repeating: "x", count: 253) + "…")
        #expect(BrokerText.short(String(repeating: "\n", count: 5000) + "x").unicodeScalars.count <= 254)
    }

    @Test func `an event keeps its data and gets the id of the one before`() {
        let data = Array(#"{"type":"run.ended","at":"x","run":{"text":"{\"prev\":1}"}}"#.utf8)
        let event = BrokerEvent(type: "run.ended", id: "e.24", prev: "e.21", at: noon, data: data)
        #expect(
            text(event.payload(limit: 1000))
                == #"{"id":"e.24","prev":"e.21","type":"run.ended","at":"x","run":{"text":"{\"prev\":1}"}}"#
        )
        #expect(
            text(event.payload(limit: 60))
                == #"{"type":"run.ended","id":"e.24","prev":"e.21","at":"\#(noon.rfc3339)","tooLarge":true}"#
        )
        let bare = BrokerEvent(type: "message", id: "e.1", prev: nil, at: noon, data: Array("{}".utf8))
        #expect(text(bare.payload(limit: 1000)) == #"{"type":"message","id":"e.1","prev":null}"#)
        let broken = BrokerEvent(type: "message", id: "e.1", prev: nil, at: noon, data: Array(#"{"a":1"#.utf8))
        #expect(broken.payload(limit: 1000) == broken.stub)
        let own = BrokerEvent(
            type: "x",
            id: "1",
            prev: "0",
            at: noon,
            data: Array(#"{"prev":7,"id":"1","type":"x"}"#.utf8)
        )
        #expect(text(own.payload(limit: 1000)) == #"{"id":"1","type":"x","prev":"0"}"#)
    }

    @Test func `every payload is JSON under its limit, whatever the texts are`() throws {
        var random = SeededRandom(11)
        func hostile() -> String { HostileText.make(&random) }
        func check(_ bytes: [UInt8], _ limit: Int, _ place: SourceLocation = #_sourceLocation) {
            #expect((try? JSONDocument(parsing: bytes)) != nil, sourceLocation: place)
            #expect(bytes.count <= limit, sourceLocation: place)
        }
        for _ in 0..<60 {
            let runs = (0..<12).map { _ in BrokerActivity.Run(id: hostile(), session: hostile(), label: hostile()) }
            check(
                BrokerActivity(at: noon, active: 12, headline: hostile(), runs: runs).payload,
                BrokerLimits.activityBytes
            )
            let reply = BrokerReply(id: "e.1", at: noon, session: "main", runID: "r", text: hostile() + hostile())
            for level in BrokerText.allCases { check(reply.payload(level), 16 << 10) }
            let items = (0..<9).map { _ in
                BrokerApprovals.Item(id: String(hostile().prefix(64)), title: hostile(), expiresAt: nil)
            }
            check(BrokerApprovals(pending: 9, list: items).payload, 16 << 10)
            check(BrokerFailure(id: nil, at: noon, code: hostile(), detail: hostile()).payload, 16 << 10)
            check(
                BrokerLink(state: .refused, code: hostile(), detail: hostile(), hint: hostile(), since: noon).payload,
                16 << 10
            )
            check(HomeAssistantRun(.failed, id: "1", session: "s", runID: "r", text: hostile()).payload(.short), 4096)
            let windows = [BrokerUsage.Window(provider: hostile(), name: hostile(), usedPercent: .nan, resetsAt: nil)]
            check(
                BrokerUsage(date: nil, tokens: 1, costUSD: .infinity, costIsLowerBound: true, windows: windows).payload,
                16 << 10
            )
            var writer = JSONWriter()
            writer.object { $0.member("text", hostile()) }
            let event = BrokerEvent(type: "message", id: "e.2", prev: hostile().shortened, at: noon, data: writer.bytes)
            check(event.payload(limit: 4096), 4096)
        }
    }

    @Test func `an approval that no longer waits has ended for Home Assistant`() {
        #expect(HomeAssistantApproval.Kind(state: "pending") == .requested)
        #expect(HomeAssistantApproval.Kind(state: "cancelled") == .expired)
        #expect(HomeAssistantApproval.Kind(state: "other") == nil)
    }
}
