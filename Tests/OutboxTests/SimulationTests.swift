import Basics
import Foundation
import Outbox
import Testing

struct `A simulated world` {
    /// `LADLE_TEST_SEEDS=200` tries more of them.
    static let seeds = UInt64(ProcessInfo.processInfo.environment["LADLE_TEST_SEEDS"] ?? "") ?? 16

    @Test(arguments: 1...seeds)
    func `loses nothing, runs nothing twice and keeps its order`(seed: UInt64) {
        var world = Simulation(seed: seed)
        let start = world.nowMs
        while world.advance(until: start + 1_200_000) {}
        world.isPeace = true
        while world.advance(until: start + 4_800_000) {}
        world.forgetDoubts()
        while world.disk.values.contains(where: { !$0.state.hasEnded }), world.advance(until: start + 12_000_000) {}

        #expect(world.violations == [], "seed \(seed)")
        #expect(world.accepted.count > 100, "seed \(seed)")
        for id in world.accepted {
            let entry = world.disk[id]
            #expect(entry?.state.hasEnded == true, "\(id) is \(entry?.state as Any), seed \(seed)")
        }
        for (id, rows) in world.gateway.stored where !world.touched.contains(id) {
            #expect(rows == 1, "\(id) is in the transcript \(rows) times, seed \(seed)")
            #expect(!world.takenBack.contains(id), "\(id) was taken back and ran, seed \(seed)")
            #expect(world.disk[id]?.state != .failed, "\(id) is called failed and ran, seed \(seed)")
        }
        for (id, runs) in world.gateway.begun where !world.touched.contains(id) {
            let seen = runs - (world.gateway.lost[id] ?? 0)
            #expect(seen <= 1, "\(id) ran \(seen) times that could be seen, seed \(seed)")
        }
        let untouched = world.gateway.order.mapValues { ids in
            ids.filter { !world.touched.contains($0) && world.disk[$0]?.notBefore == nil }
                .compactMap { world.disk[$0]?.ordinal }
        }
        for (session, ordinals) in untouched { #expect(ordinals == ordinals.sorted(), "\(session), seed \(seed)") }
    }
}

extension Simulation {
    /// The actions of people.
    mutating func act() {
        guard !isPeace else { return }
        soon(10...4_000, .act)
        let known = disk.keys.sorted()
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<72: enqueue()
        case 72..<76:
            let number = texts.count + 1
            texts["e\(number)"] = ""
            write(.enqueue(.sample("e\(number)", kind: .abort, session: session(), text: nil, at: nowMs)))
        case 76..<88:
            if let id = known.randomElement(using: &random) { tell(.cancel(id: id, force: false, CommandToken(1))) }
        case 88..<91:
            guard let id = known.randomElement(using: &random) else { return }
            touched.insert(id)
            tell(.cancel(id: id, force: true, CommandToken(2)))
        default:
            guard let id = known.randomElement(using: &random) else { return }
            if disk[id]?.state != .delivered { touched.insert(id) }
            tell(.retry(id: id, expectedVersion: nil, CommandToken(3)))
        }
    }

    /// Settles doubts that only a person can settle: commands, and texts that exist once but were sent twice.
    mutating func forgetDoubts() {
        for entry in disk.values.sorted(by: { $0.ordinal < $1.ordinal }) where entry.state == .unconfirmed {
            touched.insert(entry.id)
            tell(.cancel(id: entry.id, force: true, CommandToken(4)))
        }
    }

    private mutating func session() -> String { "s\(Int.random(in: 0..<6, using: &random))" }

    private mutating func enqueue() {
        let id = "e\(texts.count + 1)"
        let text = chance(20) ? "yes" : chance(4) ? "/model large" : "text of \(id)"
        texts[id] = text
        let later = chance(5) ? nowMs + Int64.random(in: 1...300_000, using: &random) : nil
        let lifetime = chance(5) ? Int64.random(in: 1_000...100_000, using: &random) : 48 * 3_600_000
        write(
            .enqueue(.sample(id, session: session(), text: text, at: nowMs, ttlMs: lifetime, notBefore: later))
        )
    }
}
