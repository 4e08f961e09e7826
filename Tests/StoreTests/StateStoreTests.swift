import Basics
import EventStream
import Foundation
import JSONBytes
import Ledger
import Outbox
import POSIX
import Runs
import SQLite
import TestSupport
import Testing

@testable import Store

private struct Refused: Error, Equatable {}

struct `The store` {
    @Test func `has the entry, its event and its receipt together or not at all`() async throws {
        let fixture = try StoreFixture()
        let (store, opening) = try fixture.open()
        #expect(opening == .created)
        let claim = ReceiptTable.Claim(scope: "t", key: "k", bodyHash: [1])
        let entry = fixture.entry("a")
        await #expect(throws: Refused.self) {
            try await store.submit { transaction in
                _ = try transaction.enqueue(entry, payload: .init(text: "x", body: nil), claim: claim)
                throw Refused()
            }
        }
        #expect(try await store.entries() == [])
        #expect(fixture.published.values.isEmpty)
        guard case .accepted(let accepted) = try await store.enqueue(entry, claim: claim) else {
            Issue.record("not accepted")
            return
        }
        #expect(accepted.text == "hello")
        let events = fixture.published.values
        #expect(events.map(\.type) == ["outbox"])
        #expect(events[0].id.sequence == 1, "the number of the event that was taken back is used")
        let document = try JSONDocument(parsing: events[0].data)
        #expect(document.root["id"]?.string == events[0].id.text)
        #expect(document.root["entry"]?["state"]?.string == "queued")
        #expect(document.root["entry"]?["text"]?.string == "hello")
    }

    @Test func `knows that its file was moved away, also before anybody writes, and that it is back`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        func look() async -> StoreHealth {
            await withCheckedContinuation { done in store.look { done.resume(returning: $0) } }
        }
        #expect(await look() == .ok)
        try FileSystem.rename(fixture.scratch.file("state"), to: fixture.scratch.file("elsewhere"))
        guard case .misplaced(let reason) = await look() else {
            Issue.record("\(store.health)")
            return
        }
        #expect(reason.contains("was deleted or replaced") && store.health.refusal?.detail == reason)
        await #expect(throws: StoreError.self) { _ = try await store.enqueue(fixture.entry("a")) }
        try FileSystem.rename(fixture.scratch.file("elsewhere"), to: fixture.scratch.file("state"))
        _ = try await store.enqueue(fixture.entry("a"))
        #expect(store.health == .ok)
    }

    @Test func `replays an acceptance for the same key and body, and refuses another body`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        let claim = ReceiptTable.Claim(scope: "t", key: "k", bodyHash: [1])
        _ = try await store.enqueue(fixture.entry("a"), claim: claim)
        guard case .replayed(let entry) = try await store.enqueue(fixture.entry("b"), claim: claim) else {
            Issue.record("not replayed")
            return
        }
        #expect(entry.id == "a")
        var other = claim
        other.bodyHash = [2]
        #expect(try await store.enqueue(fixture.entry("c"), claim: other) == .keyReused)
        #expect(try await store.entries().map(\.id) == ["a"])
    }

    @Test func `answers two requests with one key that come at once with one entry`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        let claim = ReceiptTable.Claim(scope: "t", key: "k", bodyHash: [1])
        let results = try await withThrowingTaskGroup(of: Enqueuing.self) { group in
            for index in 0..<20 {
                let entry = fixture.entry("e\(index)")
                group.addTask { try await store.enqueue(entry, claim: claim) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let accepted = results.filter { if case .accepted = $0 { true } else { false } }
        #expect(accepted.count == 1)
        #expect(try await store.entries().count == 1)
    }

    @Test func `lets a thousand concurrent enqueues share syncs`() async throws {
        var fixture = try StoreFixture()
        let system = try #require(FaultFileSystem(name: "group-commit"))
        fixture.fileSystem = system.name
        let (store, _) = try fixture.open()
        _ = try await store.enqueue(fixture.entry("warm"))
        let commits = store.statistics.commits
        let syncs = system.syncs
        let done = Collected<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<1_000 {
                let entry = fixture.entry("e\(index)", session: "s\(index % 40)")
                group.addTask {
                    _ = try await store.enqueue(entry)
                    done.append(index)
                }
            }
            try await group.waitForAll()
        }
        #expect(done.values.count == 1_000)
        #expect(try await store.entries().count == 1_001)
        let used = store.statistics.commits - commits
        #expect(used < 500, "\(used) commits for 1,000 enqueues")
        #expect(system.syncs - syncs <= Int(used) * 2 + 20)
        let ids = fixture.published.values.map(\.id.sequence)
        #expect(ids == Array(1...1_001))
    }

    @Test func `runs operations in the order they came and reports in that order`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        let ran = Collected<Int>()
        let reported = Collected<Int>()
        await withCheckedContinuation { continuation in
            for index in 0..<2_000 {
                store.submit { transaction in
                    ran.append(index)
                    try transaction.values.set([], space: "t", name: "n\(index)", at: transaction.now)
                    if index % 7 == 0 { throw Refused() }
                } completion: { (_: Result<Void, any Error>) in
                    reported.append(index)
                    if index == 1_999 { continuation.resume() }
                }
            }
        }
        #expect(ran.values == Array(0..<2_000))
        #expect(reported.values == Array(0..<2_000))
        let stored = try await store.read { tables in try tables.values.all(space: "t").count }
        #expect(stored == 2_000 - 286, "a failing operation takes nobody with it")
    }

    @Test func `takes a change only from the version it was made from`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        _ = try await store.enqueue(fixture.entry("a"))
        let entry = try await store.entries()[0]
        let rules = OutboxRules(policy: OutboxPolicy())
        let change = rules.dispatching(entry, now: fixture.clock.now)
        #expect(try await store.submit { try $0.apply(change) } == .applied)
        guard case .moved(let current) = try await store.submit({ try $0.apply(change) }) else {
            Issue.record("applied twice")
            return
        }
        #expect(current?.version == 2)
        #expect(fixture.published.values.count == 2)
        let last = try JSONDocument(parsing: fixture.published.values[1].data)
        #expect(last.root["entry"]?["text"]?.string == "hello", "the event shows what the dispatcher does not carry")
    }

    @Test func `tells the events of an operation before its completion and after the completion of the one before`()
        async throws
    {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        let told = Collected<Int>()
        // However they are batched.
        for index in 0..<200 {
            store.submit { transaction in
                try transaction.append(EventDraft(type: "message", at: transaction.now, body: Array("{}".utf8)))
            } completion: { _ in
                told.append(fixture.published.values.count - index)
            }
        }
        try await store.submit { _ in }
        #expect(told.values == Array(repeating: 1, count: 200))
    }

    @Test func `has everything after it was closed and opened again, and goes on counting`() async throws {
        let fixture = try StoreFixture()
        var epoch = EventEpoch.make(random: 0)
        do {
            let (store, _) = try fixture.open()
            for index in 0..<50 { _ = try await store.enqueue(fixture.entry("e\(index)")) }
            epoch = fixture.published.values[0].id.epoch
            await fixture.end(store)
            await #expect(throws: StoreError.closed) { _ = try await store.enqueue(fixture.entry("late")) }
        }
        let (store, opening) = try fixture.open()
        #expect(opening == .opened)
        #expect(try await store.entries().count == 50)
        _ = try await store.enqueue(fixture.entry("next"))
        #expect(fixture.published.values.last?.id == EventID(epoch: epoch, sequence: 51))
    }

    @Test func `reads beside a writer that is busy, and sees what was answered`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        for index in 0..<200 {
            _ = try await store.enqueue(fixture.entry("e\(index)", session: "s\(index % 9)"))
            let count = try await store.read { tables in
                try tables.outbox.counts().pending
            }
            #expect(count == index + 1)
        }
    }

    @Test func `forgets old events in slices while it works`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open { $0.keepEvents = 300 }
        for round in 0..<40 {
            try await store.submit { transaction in
                for index in 0..<100 {
                    let body = Array("{\"n\":\(round * 100 + index)}".utf8)
                    try transaction.append(EventDraft(type: "message", at: transaction.now, body: body))
                }
            }
        }
        // Each pruning is an operation of the store's own, behind the operations that waited before it.
        for _ in 0..<200 {
            let oldest = try await store.read { try $0.events.bounds().oldest?.sequence }
            if oldest ?? 0 > 3_400 { break }
            try await store.submit { _ in }
        }
        // On the store's queue, so that no pruning comes between the two looks.
        let (bounds, known) = try await withCheckedThrowingContinuation { continuation in
            store.submit {
                try EventTable($0.connection).bounds()
            } completion: { result in
                continuation.resume(with: result.map { ($0, store.oldest) })
            }
        }
        #expect(bounds.newest.sequence == 4_000)
        #expect((bounds.oldest?.sequence ?? 0) > 3_400)
        #expect(known == bounds.oldest)
    }

    @Test func `forgets no run for an event of a wrong clock`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        func append(_ count: Int) async throws {
            try await store.submit { transaction in
                for _ in 0..<count {
                    try transaction.append(EventDraft(type: "message", at: transaction.now, body: Array("{}".utf8)))
                }
            }
        }
        let years: Int64 = 5 * 365 * 86_400_000
        fixture.clock.advance(years)
        try await append(1)
        fixture.clock.advance(-years)
        let now = fixture.clock.now
        let session = SessionKey(canonical: "s")
        let run = Run(id: "r", session: session, state: .completed, startedAt: now, endedAt: now, end: .completed)
        try await store.submit { try $0.runs.save(run) }
        fixture.clock.advance(1000)
        // Each pruning is an operation of the store's own, behind the operations that waited before it.
        for _ in 0..<10 { try await append(300) }
        #expect(try await store.read { try $0.runs.run(id: "r") } != nil)
    }

    @Test func `goes on forgetting after the disk was full while it did`() async throws {
        var fixture = try StoreFixture()
        let system = try #require(FaultFileSystem(name: "full-while-forgetting"))
        fixture.fileSystem = system.name
        let (store, _) = try fixture.open { $0.keepEvents = 100 }
        func append(_ count: Int) async throws {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                store.submit { transaction in
                    for _ in 0..<count {
                        try transaction.append(EventDraft(type: "message", at: transaction.now, body: Array("{}".utf8)))
                    }
                } completion: { result in
                    // The burst is over; the store deletes old events next.
                    if count == 400 { system.arm(.full, atCall: 1) }
                    done.resume(with: result)
                }
            }
        }
        try await store.submit { _ in }
        try await append(400)
        let deadline = ContinuousClock.now + .seconds(20)
        while store.statistics.failing == nil, ContinuousClock.now < deadline { await Task.yield() }
        #expect(store.statistics.failing == .storageFull)
        system.clear()
        for _ in 0..<20 { try await append(100) }
        while (store.oldest?.sequence ?? 0) < 2_000, ContinuousClock.now < deadline { try await store.submit { _ in } }
        #expect((store.oldest?.sequence ?? 0) >= 2_000)
    }

    @Test func `keeps nothing of what it refuses, also while the disk stands still`() async throws {
        final class Words: Sendable {}
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        let disk = DispatchSemaphore(value: 0)
        let results = Collected<Result<Void, any Error>>()
        await withCheckedContinuation { standing in
            store.submit { _ in
                standing.resume()
                _ = disk.wait(timeout: .now() + 120)
            } completion: { (_: Result<Void, any Error>) in
            }
        }
        let done = Inbox<Bool>()
        store.submit(cost: 256 << 20) { _ in
        } completion: { (_: Result<Void, any Error>) in
            done.put(true)
        }
        weak var kept: Words?
        do {
            let words = Words()
            kept = words
            store.submit(cost: 1) { _ in
                withExtendedLifetime(words) {}
            } completion: { (result: Result<Void, any Error>) in
                results.append(result)
            }
        }
        #expect(kept == nil)
        disk.signal()
        _ = try await done.next(within: 120)
        #expect(throws: StoreError.overloaded) { try results.values.first?.get() }
    }

    @Test func `takes nothing while its file is away`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        _ = try await store.enqueue(fixture.entry("a"))
        let path = fixture.scratch.file("state/ladle.db")
        try FileSystem.rename(path, to: path + ".moved")
        await #expect(throws: StoreError.self) { _ = try await store.enqueue(fixture.entry("b")) }
        try FileSystem.rename(path + ".moved", to: path)
        _ = try await store.enqueue(fixture.entry("c"))
        await fixture.end(store)
    }

    @Test func `copies its log when it is idle`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        for index in 0..<50 {
            _ = try await store.enqueue(fixture.entry("e\(index)", text: String(repeating: "x", count: 4_000)))
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while store.statistics.checkpoints == 0, ContinuousClock.now < deadline { await Task.yield() }
        #expect(store.statistics.checkpoints > 0)
    }

    @Test func `keeps its files from other users`() async throws {
        let fixture = try StoreFixture()
        let (store, _) = try fixture.open()
        _ = try await store.enqueue(fixture.entry("a"))
        for name in ["ladle.db", "ladle.db-wal", "ladle.db-shm", "ladle.lock"] {
            #expect(try fixture.scratch.mode(of: "state/\(name)") == 0o600, "\(name)")
        }
        #expect(try fixture.scratch.mode(of: "state") == 0o700)
    }
}

struct `The state directory` {
    @Test func `is of one owner, who is named to the next`() throws {
        let scratch = try ScratchDirectory()
        let first = try StateDirectory(path: scratch.file("a/b/state"))
        let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(path: scratch.file("a/b/state")) }
        guard case .inUse(_, let pid) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect((pid ?? 0) > 1)
        #expect(error?.description.contains("process \(pid ?? 0)") == true)
        withExtendedLifetime(first) {}
    }

    @Test func `is not a matter of permission where another start may find it well`() throws {
        let scratch = try ScratchDirectory()
        try scratch.write([], to: "file")
        let below = #expect(throws: StateDirectoryError.self) { try StateDirectory(path: scratch.file("file/state")) }
        #expect(below?.isPermission == false, "\(below as Any)")
        let taken = try StateDirectory(path: scratch.file("state"))
        let second = #expect(throws: StateDirectoryError.self) { try StateDirectory(path: scratch.file("state")) }
        #expect(second?.isPermission == false)
        taken.release()
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.file("state"))
        let open = #expect(throws: StateDirectoryError.self) { try StateDirectory(path: scratch.file("state")) }
        #expect(open?.isPermission == true)
    }

    @Test(arguments: ["directory", "link"])
    func `names what stands in the place of its lock file, and the command that moves it`(kind: String) throws {
        let scratch = try ScratchDirectory()
        let lock = scratch.file("state/ladle.lock")
        try FileSystem.makeDirectories(scratch.file("state"))
        if kind == "directory" {
            try FileSystem.makeDirectory(lock)
        } else {
            try FileManager.default.createSymbolicLink(atPath: lock, withDestinationPath: scratch.file("elsewhere"))
        }
        let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(path: scratch.file("state")) }
        #expect(error == .lockNotAFile(path: lock))
        #expect(error?.isPermission == true)
        #expect(error?.description.contains("mv -i \(lock) \(lock).old") == true)
    }

    @Test func `is looked at without a trace, and not while it is in use`() throws {
        let scratch = try ScratchDirectory()
        try scratch.makeDirectory("state", mode: 0o700)
        let state = scratch.file("state")
        #expect(try StateDirectory.withLook(at: state) { true })
        #expect(FileSystem.names(in: state).sorted() == [".", ".."])
        let owner = try StateDirectory(path: state)
        let named = try scratch.bytes(of: "state/ladle.lock")
        let error = #expect(throws: StateDirectoryError.self) { try StateDirectory.withLook(at: state) {} }
        guard case .inUse(_, _?) = error else {
            Issue.record("\(error as Any)")
            return
        }
        owner.release()
        #expect(try StateDirectory.withLook(at: state) { true })
        #expect(try scratch.bytes(of: "state/ladle.lock") == named)
        try FileSystem.remove(state + "/ladle.lock")
        try FileSystem.makeDirectory(state + "/ladle.lock")
        let folder = #expect(throws: StateDirectoryError.self) { try StateDirectory.withLook(at: state) {} }
        #expect(folder == .lockNotAFile(path: state + "/ladle.lock"))
    }

    @Test func `is free again when its owner is gone`() throws {
        let scratch = try ScratchDirectory()
        _ = try StateDirectory(path: scratch.file("state"))
        _ = try StateDirectory(path: scratch.file("state"))
    }

    #if os(Linux)
    @Test func `is free once it is released, though a child that is being started has a copy of the descriptor`() throws
    {
        let scratch = try ScratchDirectory()
        let first = try StateDirectory(path: scratch.file("state"))
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let held = try #require(
            descriptors.first { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                return target?.hasSuffix("\(scratch.path)/state/ladle.lock") == true
            }
        )
        let copy = dup(try #require(Int32(held)))
        defer { close(copy) }
        first.release()
        _ = try StateDirectory(path: scratch.file("state"))
    }
    #endif

    @Test func `that others can enter, or that is a file, is refused`() throws {
        let scratch = try ScratchDirectory()
        try scratch.write([], to: "file")
        #expect(throws: StateDirectoryError.self) { try StateDirectory(path: scratch.file("file")) }
        try scratch.makeDirectory("open", mode: 0o755)
        let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(path: scratch.file("open")) }
        #expect(error == .openToOthers(path: scratch.file("open"), mode: 0o755))
        #expect(error?.description.contains("chmod 700") == true)
    }

    @Test func `rights of others to its files are taken away and reported`() throws {
        let scratch = try ScratchDirectory()
        let directory = try StateDirectory(path: scratch.file("state"))
        for (name, mode) in [("a", 0o644), ("b", 0o600), ("c", 0o660)] as [(String, UInt32)] {
            try scratch.write([1], to: "state/\(name)")
            try FileSystem.setMode(mode, of: scratch.file("state/\(name)"))
        }
        #expect(directory.closeFiles() == ["a", "c"])
        let modes = try ["a", "b", "c"].map { try FileSystem.facts(scratch.file("state/\($0)")).mode }
        #expect(modes == [0o600, 0o600, 0o600])
        #expect(directory.closeFiles().isEmpty)
    }
}
