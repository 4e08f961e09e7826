import Basics
import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import Runs

/// An approval as it is shown: the whole command, and nothing that hides a part of it.
struct ApprovalTests {
    private func approval(_ request: String, kind: ApprovalEvent.Kind = .exec) throws -> Approval {
        let text = #"{"id":"a","request":\#(request),"createdAtMs":1795000000000,"expiresAtMs":1795000120000}"#
        return try #require(ApprovalProof.approval(Array(text.utf8), kind: kind))
    }

    private func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `characters that would not show as themselves are spelt out`() throws {
        let tricks = "ls \u{202E}gpj.exe\u{1B}[2K\n\u{200B}rm\u{A0}x\u{2028}\u{FEFF}\u{7F}\u{85}é🦞"
        let shown = try approval(#"{"command":\#(quoted(tricks))}"#)
        #expect(
            shown.command == #"ls \u{202E}gpj.exe\u{1B}[2K\u{A}\u{200B}rm\u{A0}x\u{2028}\u{FEFF}\u{7F}\u{85}é🦞"#
        )
        #expect(shown.title == shown.command)
    }

    @Test func `a command of 64 KiB is whole, a longer one can only be denied`() throws {
        let most = String(repeating: "x", count: ApprovalLimits.commandBytes)
        let whole = try approval(#"{"command":"\#(most)"}"#)
        #expect(whole.command == most)
        #expect(!whole.isTruncated)
        #expect(whole.decisions == [.allowOnce, .allowAlways, .deny])
        let longer = try approval(#"{"command":"\#(most)x"}"#)
        #expect(longer.command == most)
        #expect(longer.isTruncated)
        #expect(longer.decisions == [.deny])
        #expect(longer.title.unicodeScalars.count == 120)
        let wide = try approval(#"{"command":"\#(String(repeating: "é", count: 35_000))"}"#)
        #expect(wide.isTruncated)
        #expect(wide.command?.utf8.count == ApprovalLimits.commandBytes)
        // Nothing is seen of this one.
        #expect(try approval("{}").decisions == [.deny])
        #expect(try approval(#"{"commandArgv":["rm",["-rf"],"/"]}"#).decisions == [.deny])
        #expect(try approval(#"{"commandArgv":["rm","-rf","/"]}"#).command == "rm -rf /")
    }

    @Test func `the borders of words are seen where only the words are told`() throws {
        let words = #"{"argv":["rm","-rf","my files","it's","","a;b","$HOME","x=1"]}"#
        #expect(try approval(words).command == #"rm -rf 'my files' 'it'\''s' '' 'a;b' '$HOME' x=1"#)
    }

    @Test func `whatever is cut is said, and only denied`() throws {
        func list(_ count: Int, _ text: String = "V") -> String {
            "[" + (0..<count).map { quoted("\(text)\($0)") }.joined(separator: ",") + "]"
        }
        let long = { (count: Int) in quoted(String(repeating: "x", count: count)) }
        let exec: [(String, Bool)] = [
            (#""envKeys":\#(list(32))"#, false), (#""envKeys":\#(list(33))"#, true), (#""envKeys":["A",1]"#, true),
            (#""commandAnalysis":{"warningLines":\#(list(32))}"#, false),
            (#""commandAnalysis":{"warningLines":\#(list(33))}"#, true), (#""warningText":\#(long(2_048))"#, false),
            (#""warningText":\#(long(2_049))"#, true), (#""cwd":\#(long(4_096))"#, false),
            (#""cwd":\#(long(4_097))"#, true), (#""host":\#(long(513))"#, true), (#""nodeId":\#(long(513))"#, true),
            (#""envKeys":[\#(long(513))]"#, true),
        ]
        for (member, isCut) in exec {
            let shown = try approval(#"{"command":"x",\#(member)}"#)
            #expect(shown.isTruncated == isCut, "\(member.prefix(40))")
            #expect(shown.decisions == (isCut ? [.deny] : [.allowOnce, .allowAlways, .deny]))
        }
        let plugin: [(String, Bool)] = [
            (#""title":\#(long(120))"#, false), (#""title":\#(long(121))"#, true),
            (#""title":"t","description":\#(long(2_048))"#, false),
            (#""title":"t","description":\#(long(2_049))"#, true),
            (#""title":"t","toolName":\#(long(513))"#, true),
        ]
        for (member, isCut) in plugin {
            let shown = try approval("{\(member)}", kind: .plugin)
            #expect(shown.isTruncated == isCut, "\(member.prefix(40))")
            #expect(shown.decisions.contains(.allowOnce) != isCut)
        }
    }

    @Test func `what is spelt out at most doubles the text`() throws {
        let few = try approval(#"{"command":\#(quoted(String(repeating: "\u{1B}", count: 20_000)))}"#)
        #expect(!few.isTruncated)
        let many = try approval(#"{"command":\#(quoted(String(repeating: "\u{1B}", count: 60_000)))}"#)
        #expect(many.isTruncated)
        #expect(many.decisions == [.deny])
        #expect((many.command?.utf8.count ?? 0) <= 2 * ApprovalLimits.commandBytes)
    }

    @Test func `what a glyph can hide is spelt out`() throws {
        let shown = try approval(
            #"{"command":\#(quoted("a\u{2800}b e\u{301}x\u{338} \u{301}o\u{301}\u{301}\u{301}\u{20DD}"))}"#
        )
        #expect(shown.command == "a\\u{2800}b e\u{301}x\\u{338} \\u{301}o\u{301}\u{301}\\u{301}\\u{20DD}")
    }

    @Test func `names that cannot be read are no ids, and sessions are spelt out`() throws {
        let id = #"{"id":"a\u202eb","request":{"command":"x"}}"#
        #expect(ApprovalProof.approval(Array(id.utf8), kind: .exec) == nil)
        let event = ApprovalEvent(try JSONDocument(parsing: Array(#"{"id":"a","request":{"command":"x"}}"#.utf8)).root)
        let now = Timestamp(milliseconds: 1_795_000_000_000)
        let shown = Approval(event, session: "agent:main:\u{202E}x", commandSHA256: nil, now: now)
        #expect(shown?.session == #"agent:main:\u{202E}x"#)
    }

    @Test func `every part of the question changes its fingerprint`() throws {
        func fingerprint(_ request: String) throws -> [UInt8] {
            let root = try JSONDocument(parsing: Array(#"{"id":"a","request":{\#(request)}}"#.utf8)).root
            return try #require(ApprovalEvent(root).request).fingerprint
        }
        let members = [
            #""command":"x""#, #""cwd":"/a""#, #""host":"node""#, #""nodeId":"n""#, #""title":"t""#,
            #""description":"d""#,
            #""toolName":"w""#, #""agentId":"g""#, #""envKeys":["A"]"#, #""warningText":"w""#,
        ]
        let all = try members.map(fingerprint) + [try fingerprint("")]
        #expect(Set(all).count == all.count)
    }

    @Test(arguments: [
        (#"{"command":"x"}"#, ["allow-once", "allow-always", "deny"]),
        (#"{"command":"x","ask":"always"}"#, ["allow-once", "deny"]),
        (#"{"command":"x","ask":"always","allowedDecisions":null}"#, ["allow-once", "deny"]),
        (#"{"command":"x","allowedDecisions":["deny","allow-once"]}"#, ["allow-once", "deny"]),
        (#"{"command":"x","unavailableDecisions":["allow-always"]}"#, ["allow-once", "deny"]),
        (#"{"command":"x","allowedDecisions":["maybe","deny"]}"#, ["deny"]),
    ])
    func `the decisions are those that the gateway offers`(request: String, decisions: [String]) throws {
        #expect(try approval(request).decisions.map(\.rawValue) == decisions)
    }

    @Test func `warnings, places and names of variables are shown, values are not`() throws {
        let shown = try approval(
            """
            {"command":"x > y","cwd":"/home/sam","host":"node","nodeId":"n1","agentId":"main","warningText":"writes",\
            "commandAnalysis":{"riskKinds":["redirect"],"warningLines":["writes","to a file"]},\
            "env":{"LD_PRELOAD":"secret.so"}}
            """
        )
        #expect(shown.warnings == ["writes", "to a file"])
        #expect(shown.risk == .warning)
        #expect(shown.variables == ["LD_PRELOAD"])
        #expect([shown.cwd, shown.host, shown.node, shown.agent] == ["/home/sam", "node", "n1", "main"])
        var writer = JSONWriter()
        writer.value(shown)
        #expect(!String(decoding: writer.bytes, as: UTF8.self).contains("secret.so"))
    }

    @Test func `a plugin's action has a title and a weight`() throws {
        let shown = try approval(
            #"{"title":"Post a tweet","description":"line\nline","severity":"critical","toolName":"tweet"}"#,
            kind: .plugin
        )
        #expect(shown.kind == .plugin)
        #expect(shown.title == "Post a tweet")
        #expect(shown.explanation == #"line\u{A}line"#)
        #expect(shown.risk == .critical)
        #expect(shown.decisions.count == 3)
    }

    @Test func `an id that is too long to be kept whole is no id`() {
        let long = String(repeating: "i", count: 257)
        let text = #"{"id":"\#(long)","request":{"command":"x"}}"#
        #expect(ApprovalProof.approval(Array(text.utf8), kind: .exec) == nil)
    }

    @Test(arguments: ["exec-approval.v2026.3.1", "exec-approval.v2026.6.11"])
    func `recorded approvals are asked for once and end as the gateway said`(name: String) throws {
        var register = ApprovalRegister()
        var states: [String: [Approval.State]] = [:]
        var said: [String: String] = [:]
        var now = Timestamp(milliseconds: 0)
        func note(_ news: [Approval]) { for one in news { states[one.id, default: []].append(one.state) } }
        for root in try TestData.capture(name) {
            guard let frame = root["frame"], let event = frame["event"]?.string, let payload = frame["payload"],
                case .approval(let approval) = GatewayEventPayload(event: event, payload), let id = approval.id
            else { continue }
            now = approval.time ?? now
            if approval.isResolved {
                said[id] = approval.decisionText
                note(register.resolved(approval, own: "Ladle", now: now))
            } else {
                let shown = try #require(Approval(approval, session: nil, commandSHA256: nil, now: now))
                #expect(shown.command == "echo 'sunny 21C' > weather.txt && cat weather.txt")
                #expect(shown.decisions == [.allowOnce, .deny])
                #expect([120_000, 1_800_000].contains(shown.expiresAt.milliseconds - shown.createdAt.milliseconds))
                note(register.requested(shown, now: now))
            }
        }
        #expect(!states.isEmpty)
        for (id, found) in states {
            #expect(found == [.pending, said[id] == "deny" ? .denied : .allowed])
        }
    }

    @Test(arguments: [5, 6, 7]) func `random frames never stop the parser`(seed: UInt64) throws {
        var random = SeededRandom(seed)
        let words = ["id", "request", "command", "cwd", "ask", "always", "allowedDecisions", "deny", "\u{202E}", "1"]
        func value(_ depth: Int) -> String {
            switch random.next() % (depth > 0 ? 7 : 5) {
            case 0: "null"
            case 1: "-1e300"
            case 2: String(Int64(bitPattern: random.next()))
            case 3, 4: quoted(words.randomElement(using: &random) ?? "")
            case 5: "[\(value(depth - 1)),\(value(depth - 1))]"
            default: object(depth - 1)
            }
        }
        func object(_ depth: Int) -> String {
            let names = [
                "id", "request", "command", "cwd", "ask", "allowedDecisions", "env", "createdAtMs", "expiresAtMs",
                "commandAnalysis", "warningLines", "argv", "systemRunPlan", "title", "sessionKey",
            ].shuffled(using: &random).prefix(6)
            return "{" + names.map { "\(quoted($0)):\(value(depth))" }.joined(separator: ",") + "}"
        }
        for _ in 0..<3_000 {
            let problem = ApprovalProof.problem(with: Array(object(4).utf8))
            #expect(problem == nil)
        }
    }
}
