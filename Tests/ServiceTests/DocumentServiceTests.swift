import Basics
import Documents
import EventLoops
import Gateway
import JSONBytes
import Testing
import Upstream

@testable import Service

struct DocumentServiceTests {
    private static let file = "# Identity\n\n- **Name:** Wren\n- **Vibe:** calm\n"

    private static func patch(_ text: String) throws -> DocumentWrite.Change {
        .fields(try FieldPatch(kind: .identity, merging: json(text)))
    }

    private static func text(_ copy: DocumentService.Copy?) -> String? {
        copy.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    private static func tag(_ text: String) -> String { DocumentService.tag(of: Array(text.utf8)) }

    /// The services with an identity file at the gateway.
    private func withFile(
        _ settings: ServiceSettings = ServiceSettings(),
        _ test: @Sendable (ServiceBench, isolated EventLoop) async throws -> Void
    ) async throws {
        try await withServices(settings) { bench, loop in
            bench.gateway.files["IDENTITY.md"] = Self.file
            try await bench.open(on: loop)
            try await test(bench, loop)
        }
    }

    // MARK: Reading

    @Test func `a file is read at each connection and answered from the copy while that is fresh`() async throws {
        try await withFile { bench, loop in
            let asked = bench.gateway.requests("agents.files.get").count
            #expect(Self.text(try await bench.document(.identity, on: loop)) == Self.file)
            #expect(bench.gateway.requests("agents.files.get").count == asked)
            try await bench.advance(5000, on: loop)
            _ = try await bench.document(.identity, on: loop)
            #expect(bench.gateway.requests("agents.files.get").count == asked + 1)
        }
    }

    @Test func `a change is published with the file's tag, once`() async throws {
        try await withFile { bench, loop in
            bench.gateway.files["IDENTITY.md"] = "# New\n"
            for _ in 0..<2 { _ = try await bench.document(.identity, refresh: true, on: loop) }
            let events = bench.data("identity")
            #expect(events.last?["etag"]?.string == "\"\(Self.tag("# New\n"))\"")
            #expect(events.count == 2)
        }
    }

    @Test func `while the gateway is away the copy stands in, and says that it is old`() async throws {
        try await withFile { bench, loop in
            try await bench.drop(on: loop)
            let copy = try await bench.document(.identity, refresh: true, on: loop)
            #expect(Self.text(copy) == Self.file)
            #expect(copy?.isFresh == false)
        }
    }

    @Test func `while the gateway stalls the copy stands in after two seconds`() async throws {
        try await withFile { bench, loop in
            try await bench.advance(6_000, on: loop)
            bench.gateway.silent = ["agents.files.get"]
            let name = DocumentService.Name(agent: "main", kind: .identity)
            var copy: DocumentService.Copy?
            loop.start { [services = bench.services] in
                copy = try? await services.documents.read(name, refresh: false, on: loop)
            }
            try await bench.advance(1_999, on: loop)
            #expect(copy == nil)
            try await bench.advance(1, on: loop)
            #expect(Self.text(copy) == Self.file && copy?.isFresh == false)
            // Readers who come each second do not pile up.
            for _ in 0..<30 {
                loop.start { [services = bench.services] in
                    copy = try? await services.documents.read(name, refresh: false, on: loop)
                }
                try await bench.advance(100, on: loop)
            }
            #expect(bench.services.documents.waiting(name) == 8)
        }
    }

    @Test func `a file that was never read cannot be answered while the gateway is away`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            #expect(try await bench.document(.identity, on: loop) == nil)
        }
    }

    @Test func `a copy outlives a restart`() async throws {
        try await withFile { bench, loop in
            try await bench.restart(on: loop)
            #expect(Self.text(try await bench.document(.identity, on: loop)) == Self.file)
        }
    }

    @Test func `files are read again after a run that names one of them, and every five minutes`() async throws {
        try await withFile { bench, loop in
            bench.gateway.files["IDENTITY.md"] = "# New\n"
            try await bench.advance(300_000, on: loop)
            #expect(bench.data("identity").count == 2)
            bench.gateway.files["IDENTITY.md"] = "# Newer\n"
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            let arguments = #"{"phase":"start","name":"write","toolCallId":"c","args":{"path":"IDENTITY.md"}}"#
            try await bench.event("agent", Frame.agent("run-1", 2, "tool", arguments), on: loop)
            try await bench.event("chat", Frame.final("run-1", 9, "done"), on: loop)
            try await bench.advance(5000, on: loop)
            #expect(bench.data("identity").count == 3)
        }
    }

    @Test func `a file that is absent by design is empty, and no error`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            let absent = ok(
                #"{"file":{"name":"USER.md","path":"(workspace)/USER.md","missing":true,"expectedAbsent":true}}"#
            )
            bench.gateway.next("agents.files.get", absent)
            let copy = try await bench.document(.profile, refresh: true, on: loop)
            #expect(copy?.bytes == [] && copy?.isExpectedAbsent == true)
            let written = try await bench.write(
                .fields(try FieldPatch(kind: .profile, merging: json(#"{"callName":"Sam"}"#))),
                .profile,
                on: loop
            )
            #expect(try written?.get().0.isExpectedAbsent == false)
        }
    }

    // MARK: Writing

    /// As `agents-files.jsonl` has it.
    private static let conflict = refused(
        "INVALID_REQUEST",
        "agent file changed",
        more: #","details":{"type":"agent_file_conflict","currentHash":"\#(String(repeating: "b", count: 64))"}"#
    )

    @Test func `a change goes on top of what somebody else wrote meanwhile`() async throws {
        try await withFile { bench, loop in
            bench.gateway.tellsHashes = true
            bench.gateway.next("agents.files.set", Self.conflict)
            let written = try await bench.write(Self.patch(#"{"name":"Ann"}"#), on: loop)
            #expect(try written?.get().1 == .rpc)
            #expect(bench.gateway.requests("agents.files.set").count == 2)
        }
    }

    @Test func `a file that changes each time is a conflict, with its present hash`() async throws {
        try await withFile { bench, loop in
            bench.gateway.tellsHashes = true
            bench.gateway.next("agents.files.set", Self.conflict, Self.conflict, Self.conflict)
            guard
                case .failure(.conflict(.identity, let hash))? = try await bench.write(
                    Self.patch(#"{"name":"Ann"}"#),
                    on: loop
                )
            else {
                Issue.record("no conflict")
                return
            }
            #expect(hash == String(repeating: "b", count: 64))
            #expect(bench.gateway.files["IDENTITY.md"] == Self.file)
        }
    }

    @Test func `a patch changes its fields and is read back`() async throws {
        try await withFile { bench, loop in
            let (copy, path) = try #require(try await bench.write(Self.patch(#"{"name":"Ann"}"#), on: loop)?.get())
            #expect(path == .rpc)
            #expect(bench.gateway.files["IDENTITY.md"] == "# Identity\n\n- **Name:** Ann\n- **Vibe:** calm\n")
            #expect(Self.text(copy) == bench.gateway.files["IDENTITY.md"])
        }
    }

    @Test func `a patch without a change writes nothing`() async throws {
        try await withFile { bench, loop in
            let (_, path) = try #require(try await bench.write(Self.patch(#"{"name":"Wren"}"#), on: loop)?.get())
            #expect(path == nil)
            #expect(bench.gateway.requests("agents.files.set").isEmpty)
        }
    }

    @Test func `a patch without a change leaves a file that is missing so`() async throws {
        try await withLinkedServices { bench, loop in
            _ = try await bench.write(Self.patch(#"{"name":null}"#), on: loop)
            #expect(bench.gateway.files.isEmpty)
            _ = try await bench.write(.whole([]), on: loop)
            #expect(bench.gateway.files["IDENTITY.md"]?.isEmpty == true)
        }
    }

    @Test func `a write for another version is refused, with what changed since`() async throws {
        try await withFile { bench, loop in
            let condition = DocumentCondition.tags([Self.tag(Self.file)])
            #expect(try await bench.write(Self.patch(#"{"name":"A"}"#), if: condition, on: loop)?.get() != nil)
            let late = try await bench.write(Self.patch(#"{"name":"B"}"#), if: condition, on: loop)
            guard case .failure(.moved(_, let current, _, let base)) = late else {
                Issue.record("the second write was not refused")
                return
            }
            #expect(Self.text(current)?.contains("**Name:** A") == true)
            #expect(base?[.name] == "Wren")
        }
    }

    @Test func `a whole file replaces the file`() async throws {
        try await withFile { bench, loop in
            let bytes = Array("# Other\n".utf8)
            _ = try await bench.write(.whole(bytes), if: .tags([Self.tag(Self.file)]), on: loop)?.get()
            #expect(bench.gateway.files["IDENTITY.md"] == "# Other\n")
        }
    }

    @Test func `a guard that did not hold makes the change again on top`() async throws {
        try await withServices { bench, loop in
            bench.gateway.tellsHashes = true
            bench.gateway.files["IDENTITY.md"] = Self.file
            try await bench.open(on: loop)
            bench.gateway.next("agents.files.set", refused("CONFLICT", "the file has changed"))
            #expect(try await bench.write(Self.patch(#"{"name":"Ann"}"#), on: loop)?.get() != nil)
            let sets = bench.gateway.requests("agents.files.set")
            #expect(sets.count == 2)
            #expect(sets.allSatisfy { $0["expectedHash"] == ScriptedGateway.sum(Self.file) })
        }
    }

    @Test func `a write that somebody undid three times is said to be unseen`() async throws {
        try await withFile { bench, loop in
            bench.gateway.next("agents.files.set", ok("{}"), ok("{}"), ok("{}"))
            let outcome = try await bench.write(Self.patch(#"{"name":"Ann"}"#), on: loop)
            guard case .failure(.writeNotSeen) = outcome else {
                Issue.record("\(String(describing: outcome))")
                return
            }
            #expect(bench.gateway.requests("agents.files.set").count == 3)
        }
    }

    @Test func `two hundred writers at once lose nothing`() async throws {
        try await withFile { bench, loop in
            let fields = ["name", "creature", "vibe", "theme", "emoji"]
            var done = 0
            for number in 0..<200 {
                let value = "v\(number)"
                let field = fields[number % fields.count]
                let change = try Self.patch(#"{"\#(field)":"\#(value)"}"#)
                bench.begin(change, on: loop) { outcome in
                    guard let copy = try? outcome.get().0 else { return }
                    if Self.text(copy)?.contains(value) == true { done += 1 }
                }
            }
            try await bench.settle(on: loop)
            #expect(done == 200)
            for number in 195..<200 { #expect(bench.gateway.files["IDENTITY.md"]?.contains("v\(number)") == true) }
            #expect(bench.services.documents.waiting(.init(agent: "main", kind: .identity)) == 0)
        }
    }

    // MARK: By chat

    private static let missingScope = refused(
        "FORBIDDEN",
        "missing scope: operator.admin",
        more: #","details":{"code":"MISSING_SCOPE","missingScope":"operator.admin"}"#
    )

    @Test func `a missing scope fails the write where the agent may not be asked`() async throws {
        try await withFile { bench, loop in
            bench.gateway.next("agents.files.set", Self.missingScope)
            let outcome = try await bench.write(Self.patch(#"{"name":"Ann"}"#), on: loop)
            guard case .failure(.gateway(.missingScope("operator.admin", _, _, _), _)) = outcome else {
                Issue.record("\(String(describing: outcome))")
                return
            }
            #expect(bench.gateway.sentTexts.isEmpty)
        }
    }

    @Test func `where the configuration allows it the agent is asked by a chat that nobody sees`() async throws {
        var settings = ServiceSettings()
        settings.writesDocumentsByChat = true
        try await withFile(settings) { bench, loop in
            bench.gateway.next("agents.files.set", Self.missingScope)
            var outcome: ServiceBench.WriteOutcome?
            let change = try Self.patch(#"{"name":"Ann"}"#)
            bench.begin(change, on: loop) { outcome = $0 }
            try await bench.settle(on: loop)
            let key = try #require(bench.gateway.sentKeys.first)
            bench.gateway.files["IDENTITY.md"] = "# Me\n\n- **Name:** Ann\n- **Vibe:** calm\n"
            try await bench.event("agent", Frame.start(key), on: loop)
            try await bench.event("chat", Frame.final(key, 4, "done"), on: loop)
            #expect(try outcome?.get().1 == .chat)
            #expect(bench.services.runs.runs().isEmpty)
        }
    }

    @Test func `an agent that does not answer within two minutes fails the write`() async throws {
        var settings = ServiceSettings()
        settings.writesDocumentsByChat = true
        try await withFile(settings) { bench, loop in
            bench.gateway.next("agents.files.set", Self.missingScope)
            var outcome: ServiceBench.WriteOutcome?
            let change = try Self.patch(#"{"name":"Ann"}"#)
            bench.begin(change, on: loop) { outcome = $0 }
            try await bench.advance(119_999, on: loop)
            #expect(outcome == nil)
            try await bench.advance(1, on: loop)
            guard case .failure(.agentSilent) = outcome else {
                Issue.record("\(String(describing: outcome))")
                return
            }
        }
    }
}
