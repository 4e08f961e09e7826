import TestSupport
import Testing

@testable import Store

struct `The lease` {
    private let attic = Lease.Host(id: "attic", boot: "1")
    private let cellar = Lease.Host(id: "cellar", boot: "2")

    private func row(_ term: Int64, _ beat: Int64, _ holder: Lease.Host?, waitMs: Int64 = 6_000) -> Lease.Row {
        Lease.Row(term: term, beat: beat, holder: holder, waitMs: waitMs)
    }

    /// A host that leads in term 2 since this time.
    private func leader(at time: Int64 = 0) -> Lease {
        var lease = Lease(attic, waitMs: 6_000)
        lease.looked(row(1, 0, nil), at: time)
        lease.took(true, sent: time)
        return lease
    }

    @Test func `a free lease is taken at once, and beats each sixth of the wait`() {
        var lease = Lease(attic, waitMs: 6_000)
        #expect(lease.next(at: 5) == .look)
        lease.looked(row(1, 7, nil), at: 10)
        #expect(lease.next(at: 10) == .take(row(1, 7, nil)))
        #expect(lease.permit == 0, "not before the answer")
        lease.took(true, sent: 20)
        #expect(lease.state == .leading(term: 2, until: 4_020))
        #expect(lease.next(at: 1_019) == .wait(until: 1_020))
        #expect(lease.next(at: 1_020) == .beat(term: 2))
        lease.beaten(true, sent: 1_020)
        #expect(lease.permit == 5_020, "four seconds from the time before it was sent")
    }

    @Test func `a lease with beats is not taken`() {
        var lease = Lease(cellar, waitMs: 6_000)
        var now: Int64 = 0
        for beat in 0..<100 as Range<Int64> {
            lease.looked(row(1, beat / 20, attic), at: now)
            guard case .wait(let until) = lease.next(at: now) else { return #expect(Bool(false), "beat \(beat)") }
            now = until
        }
    }

    @Test func `a leader is known to be alive by its next beat, and each leader anew`() {
        var lease = Lease(cellar, waitMs: 6_000)
        for (seen, isAlive) in [
            (row(1, 3, attic), false), (row(1, 3, attic), false), (row(1, 4, attic), true), (row(1, 4, attic), true),
            (row(2, 0, attic), false), (row(2, 1, attic), true),
        ] {
            lease.looked(seen, at: 100)
            #expect(lease.hasSeenBeats == isAlive, "\(seen)")
        }
    }

    @Test func `a silent leader is followed by another one after the wait, and not before`() {
        var lease = Lease(cellar, waitMs: 6_000)
        lease.looked(row(1, 3, attic), at: 100)
        lease.looked(row(1, 4, attic), at: 200)
        for time in [450, 6_199] as [Int64] {
            lease.looked(row(1, 4, attic), at: time)
            #expect(lease.next(at: time) == .wait(until: min(time + 250, 6_200)))
        }
        #expect(lease.next(at: 6_200) == .look)
        lease.looked(row(1, 4, attic), at: 6_200)
        #expect(lease.next(at: 6_200) == .take(row(1, 4, attic)))
        lease.took(false, sent: 6_201)
        #expect(lease.next(at: 6_202) == .look, "another one was first")
    }

    @Test func `the longer wait of the two counts`() {
        for (own, others): (Int64, Int64) in [(3_000, 9_000), (9_000, 3_000)] {
            var lease = Lease(cellar, waitMs: own)
            lease.looked(row(1, 0, attic, waitMs: others), at: 0)
            lease.looked(row(1, 0, attic, waitMs: others), at: 8_999)
            #expect(lease.next(at: 8_999) == .wait(until: 9_000))
            lease.looked(row(1, 0, attic, waitMs: others), at: 9_000)
            #expect(lease.next(at: 9_000) == .take(row(1, 0, attic, waitMs: others)))
        }
    }

    @Test func `a host that is back in the same run of its machine takes its lease, unless the server is another one`()
    {
        var lease = Lease(attic, waitMs: 6_000)
        lease.looked(row(4, 9, attic), at: 0)
        #expect(lease.next(at: 0) == .take(row(4, 9, attic)))
        for other in [Lease.Host(id: "attic", boot: "2"), Lease.Host(id: "cellar", boot: "1")] {
            var lease = Lease(attic, waitMs: 6_000)
            lease.looked(row(4, 9, other), at: 0)
            #expect(lease.next(at: 0) == .wait(until: 250))
        }
        var elsewhere = row(4, 9, attic)
        elsewhere.isSameServer = false
        lease = Lease(attic, waitMs: 6_000)
        lease.looked(elsewhere, at: 0)
        #expect(lease.next(at: 0) == .wait(until: 250))
    }

    @Test func `a leader without confirmed beats is suspended, and leads again with the next one`() {
        var lease = leader()
        for time in stride(from: 1_000, to: 4_000, by: 250) as StrideTo<Int64> {
            #expect(lease.next(at: time) == .beat(term: 2))
            lease.failed(at: time)
        }
        #expect(lease.permit == 4_000)
        #expect(lease.next(at: 4_000) == .beat(term: 2))
        #expect(lease.state == .suspended(term: 2) && lease.permit == 0)
        lease.beaten(true, sent: 4_500)
        #expect(lease.state == .leading(term: 2, until: 8_500))
    }

    @Test func `a beat that finds another leader deposes for good`() {
        for isSuspended in [false, true] {
            var lease = leader()
            if isSuspended { _ = lease.next(at: 9_000) }
            lease.beaten(false, sent: 9_000)
            #expect(lease.state == .deposed && lease.permit == 0)
            lease.beaten(true, sent: 9_001)
            lease.looked(row(3, 0, nil), at: 9_001)
            #expect(lease.next(at: 9_002) == .end)
        }
    }

    @Test func `a takeover without an answer is looked at`() {
        var lease = Lease(attic, waitMs: 6_000)
        lease.looked(row(1, 0, nil), at: 0)
        lease.failed(at: 100)
        #expect(lease.next(at: 350) == .look && lease.permit == 0)
        // It was carried out.
        lease.looked(row(2, 0, attic), at: 360)
        #expect(lease.next(at: 360) == .take(row(2, 0, attic)))
    }

    // MARK: Any schedule

    /// Hosts with clocks of slightly different rates, that stand still and lose answers, at one row.
    private struct Model {
        struct Member {
            var lease: Lease
            /// Its clock counts so many milliseconds in 1,000,000 of the true ones.
            let rate: Int64
            let offset: Int64
            var frozenUntil: Int64 = 0
            var isDeposed: Bool { lease.state == .deposed }
            func clock(_ time: Int64) -> Int64 { offset + time * rate / 1_000_000 }
            func holds(_ time: Int64) -> Bool { clock(time) < lease.permit }
        }

        var random: SeededRandom
        var members: [Member]
        var row = Lease.Row(term: 0, beat: 0, holder: nil, waitMs: 6_000)
        var terms = 0
        var late = 0

        init(seed: UInt64) {
            random = SeededRandom(seed)
            var made: [Member] = []
            for number in 0..<3 {
                let host = Lease.Host(id: "\(number)", boot: "b")
                made.append(
                    Member(
                        lease: Lease(host, waitMs: 6_000),
                        rate: .random(in: 990_000...1_010_000, using: &random),
                        offset: .random(in: 0...1_000_000_000, using: &random)
                    )
                )
            }
            members = made
        }

        mutating func run(milliseconds: Int64) {
            var time: Int64 = 0
            while time < milliseconds {
                // A host that has stood still acts before it looks at the lease.
                let acting = members.indices.filter { members[$0].holds(time) && members[$0].frozenUntil <= time }
                if acting.count > 1 { late += 1 }
                for index in members.indices { step(index, at: time) }
                time += .random(in: 1...60, using: &random)
            }
        }

        private mutating func step(_ index: Int, at time: Int64) {
            guard members[index].frozenUntil <= time else { return }
            if Int.random(in: 0..<800, using: &random) == 0 {
                members[index].frozenUntil = time + .random(in: 100...20_000, using: &random)
                return
            }
            // Its process was started anew.
            if members[index].isDeposed {
                members[index].lease = Lease(members[index].lease.host, waitMs: 6_000)
            }
            let now = members[index].clock(time)
            let action = members[index].lease.next(at: now)
            // The statement may arrive, and its answer may not, or come later.
            let fate = Int.random(in: 0..<20, using: &random)
            let after = now + .random(in: 0...400, using: &random)
            if fate == 0 { return members[index].lease.failed(at: after) }
            switch action {
            case .look: members[index].lease.looked(row, at: after)
            case .take(let seen):
                let isDone = (seen.term, seen.beat) == (row.term, row.beat)
                if isDone {
                    row = Lease.Row(term: row.term + 1, beat: 0, holder: members[index].lease.host, waitMs: 6_000)
                    terms += 1
                }
                if fate == 1 {
                    members[index].lease.failed(at: after)
                } else {
                    members[index].lease.took(isDone, sent: now)
                }
            case .beat(let term):
                let isDone = term == row.term && row.holder == members[index].lease.host
                if isDone { row.beat += 1 }
                if fate == 1 {
                    members[index].lease.failed(at: after)
                } else {
                    members[index].lease.beaten(isDone, sent: now)
                }
            case .wait, .end: break
            }
        }
    }

    @Test func `of three hosts at most one may act at any time`() {
        var terms = 0
        for seed in 1...20 as ClosedRange<UInt64> {
            var model = Model(seed: seed)
            model.run(milliseconds: 120_000)
            #expect(model.late == 0, "seed \(seed)")
            terms += model.terms
        }
        #expect(terms > 60, "\(terms) terms")
    }
}
