import Basics
import Documents
import EventLoops
import Gateway
import JSONBytes
import Runs
import Store
import Testing

@testable import Service

/// The services read saved state before the link may open.
struct StartTests {
    @Test func `the link may open once the runs of the earlier process are read`() async throws {
        try await withServices { bench, loop in
            #expect(bench.mayOpen)
            #expect(bench.services.runs.fault == nil)
        }
    }

    @Test func `while the saved runs cannot be read the link stays closed, and they are read again each second`()
        async throws
    {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            bench.journal.failReads(.unavailable("torn page"))
            try await bench.restart(on: loop)
            #expect(!bench.mayOpen)
            #expect(bench.services.runs.fault == "torn page")
            try await bench.advance(3000, on: loop)
            #expect(!bench.mayOpen)
            bench.journal.failReads(nil)
            try await bench.advance(1000, on: loop)
            #expect(bench.mayOpen)
            #expect(bench.services.runs.fault == nil)
            #expect(bench.services.runs.active.map(\.id) == ["run-1"])
        }
    }

    @Test func `documents that could not be read at the start are read later`() async throws {
        try await withServices { bench, loop in
            bench.gateway.files["IDENTITY.md"] = "# Wren\n"
            try await bench.open(on: loop)
            bench.journal.failReads(.unavailable("torn page"))
            try await bench.restart(on: loop)
            #expect(try await bench.document(.identity, on: loop)?.isFresh == nil)
            bench.journal.failReads(nil)
            try await bench.advance(1000, on: loop)
            let copy = try await bench.document(.identity, on: loop)
            #expect(copy.map { String(decoding: $0.bytes, as: UTF8.self) } == "# Wren\n")
            #expect(copy?.isFresh == false)
        }
    }

    @Test func `a message event whose text cannot be read comes later`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            let id = try await bench.accept("hello", on: loop)
            try await bench.restart(on: loop)
            bench.gateway.silent = ["chat.send"]
            try await bench.open(on: loop)
            bench.journal.failReads(.unavailable("torn page"))
            bench.gateway.answer("chat.send", ok(#"{"status":"ok"}"#))
            try await bench.settle(on: loop)
            bench.journal.failReads(nil)
            try await bench.advance(1000, on: loop)
            #expect(bench.messages.filter { $0["id"]?.string == id }.last?["state"]?.string == "sent")
        }
    }

    @Test func `the meaning of main is remembered from the last gateway`() async throws {
        try await withServices { bench, loop in
            let before = try await SessionDefaults.kept(in: bench.journal)
            #expect(before == .standard)
            try await bench.open(on: loop)
            #expect(try await SessionDefaults.kept(in: bench.journal).mainSession.text == "agent:main:main")
        }
    }
}
