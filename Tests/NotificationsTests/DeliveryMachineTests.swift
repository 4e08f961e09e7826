import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Notifications

/// A day of deliveries on a clock that the test moves.
struct DeliveryMachineTests {
    private static let start = Timestamp(milliseconds: 1_795_000_000_000)

    /// Steps a machine, and answers its sends.
    private struct Bench {
        var machine = DeliveryMachine()
        var now = DeliveryMachineTests.start
        var sent: [DeliveryMachine.Sending] = []
        var states: [String: SinkDelivery.State] = [:]
        var errors: [String: String] = [:]
        var disabled: [String] = []
        private var number = 0

        init(kind: String = "webhook", more: String = "") throws {
            try add(sink: "s", kind: kind, more: more)
        }

        mutating func add(sink: String, kind: String = "webhook", more: String = "") throws {
            let json =
                #"{"name":"s","kind":"\#(kind)","url":"https://e.org","topic":\#(kind == "ntfy" ? "\"t\"" : "null")\#(more)}"#
            machine.set(try NotificationSink(id: sink, origin: .api, JSONDocument(parsing: json).root), SinkHealth())
        }

        mutating func quiet(_ json: String, _ zone: TimeZoneTable = .utc) throws {
            var hours = QuietHours(timeZone: "UTC")
            try hours.take(JSONDocument(parsing: json).root)
            machine.set(hours, zone)
        }

        @discardableResult
        mutating func add(
            _ type: NotificationType = .runCompleted,
            session: String? = nil,
            subject: Notification.Subject? = nil,
            collapse: String? = nil,
            expiresInMs: Int64? = nil,
            delayMs: Int64 = 0
        ) -> String {
            number += 1
            var one = Notification(
                id: "n\(number)",
                type: type,
                at: now.adding(milliseconds: Int64(number)),
                title: "t"
            )
            one.session = session
            one.subject = subject
            one.collapseKey = collapse
            one.expiresAt = expiresInMs.map { now.adding(milliseconds: $0) }
            machine.add([SinkDelivery(one, sink: "s", dueAt: now.adding(milliseconds: delayMs))])
            return one.id
        }

        /// - Parameter answer: nil leaves sends without an answer.
        mutating func step(_ answer: DeliveryMachine.Outcome? = .accepted(status: 204)) {
            var isBusy = true
            while isBusy {
                isBusy = false
                for action in machine.step(now: now) {
                    switch action {
                    case .send(let sending):
                        sent.append(sending)
                        guard let answer else { continue }
                        machine.answered(sending.delivery.sink, answer, now: now)
                        isBusy = true
                    case .write(let deliveries):
                        for one in deliveries {
                            states[one.notification] = one.state
                            errors[one.notification] = one.error
                        }
                    case .health: break
                    case .disabled(let sink, _): disabled.append(sink)
                    }
                }
            }
        }

        mutating func advance(_ milliseconds: Int64, _ answer: DeliveryMachine.Outcome? = .accepted(status: 204)) {
            let end = now.adding(milliseconds: milliseconds)
            step(answer)
            while let wake = machine.wakeAt, wake <= end {
                now = max(wake, now.adding(milliseconds: 1))
                step(answer)
            }
            now = end
            step(answer)
        }
    }

    private static let dead = DeliveryMachine.Outcome.failed(status: nil, error: "refused", retryAfterMs: nil)
    private static let hour: Int64 = 3_600_000

    @Test func `one at a time, the urgent first`() throws {
        var bench = try Bench()
        let first = bench.add()
        bench.step(nil)
        bench.add()
        let urgent = bench.add(.approvalRequested)
        bench.step(nil)
        #expect(bench.sent.map(\.delivery.notification) == [first])
        bench.machine.answered("s", .accepted(status: 200), now: bench.now)
        bench.step(nil)
        #expect(bench.sent.map(\.delivery.notification) == [first, urgent])
        #expect(bench.states[first] == .sent)
    }

    @Test func `a receiver that is away for less than a day gets it, under the same id`() throws {
        var bench = try Bench()
        let id = bench.add()
        bench.advance(19 * Self.hour, Self.dead)
        #expect(bench.sent.count == 8 && bench.states[id] == .pending)
        bench.advance(6 * Self.hour)
        #expect(bench.states[id] == .sent && Set(bench.sent.map(\.delivery.notification)) == [id])
    }

    @Test func `after a day it has failed`() throws {
        var bench = try Bench()
        let id = bench.add()
        bench.advance(30 * Self.hour, Self.dead)
        #expect(bench.sent.count == 10 && bench.states[id] == .failed && bench.machine.wakeAt == nil)
        let times = bench.sent.compactMap { $0.delivery.startedAt }
        #expect(Set(times) == [Self.start])
        var phone = try Bench(kind: "ntfy")
        phone.add()
        phone.advance(3 * Self.hour, Self.dead)
        #expect(phone.sent.count == 6)
    }

    @Test func `a clock that is set back sends nothing twice`() throws {
        var bench = try Bench()
        bench.add()
        bench.step()
        bench.now = bench.now.adding(milliseconds: -2 * Self.hour)
        bench.advance(5 * Self.hour)
        #expect(bench.sent.count == 1)
        bench.add()
        bench.step()
        #expect(bench.sent.count == 2)
    }

    @Test func `the receiver says when to come again`() throws {
        var bench = try Bench()
        bench.add()
        bench.step(.failed(status: 429, error: "429", retryAfterMs: 90_000))
        bench.add()
        bench.advance(89_000)
        #expect(bench.sent.count == 1)
        bench.advance(2_000)
        #expect(bench.sent.count == 3)
        bench.add()
        bench.step(.failed(status: 503, error: "503", retryAfterMs: .max))
        bench.advance(Self.hour + 1_000)
        #expect(bench.sent.count == 5)
    }

    @Test func `410 disables a webhook, and so does a credential that is refused three times`() throws {
        var bench = try Bench()
        let id = bench.add()
        bench.add()
        bench.step(.failed(status: 410, error: "410", retryAfterMs: nil))
        #expect(bench.disabled == ["s"] && bench.states[id] == .failed && bench.machine.waitingCount == 0)
        let later = bench.add()
        bench.step()
        #expect(bench.states[later] == .failed && bench.sent.count == 1)
        var phone = try Bench(kind: "ntfy")
        phone.add()
        phone.advance(2 * 60_000, .failed(status: 401, error: "401", retryAfterMs: nil))
        #expect(phone.disabled == ["s"] && phone.sent.count == 3)
    }

    @Test func `five days of failures disable a sink`() throws {
        var bench = try Bench()
        for _ in 0..<4 {
            bench.add()
            bench.advance(25 * Self.hour, Self.dead)
        }
        #expect(bench.disabled == [])
        bench.add()
        bench.advance(25 * Self.hour, Self.dead)
        #expect(bench.disabled == ["s"])
    }

    @Test func `an approval that has expired is not sent, and one that was decided is taken back`() throws {
        var bench = try Bench(kind: "ntfy")
        let expired = bench.add(.approvalRequested, expiresInMs: 15_000)
        bench.advance(20_000, Self.dead)
        #expect(bench.states[expired] == .dropped && bench.sent.count == 2)
        let subject = Notification.Subject(.approval, "a")
        bench.now = bench.now.adding(milliseconds: Self.hour)
        let decided = bench.add(.approvalRequested, subject: subject)
        bench.step(nil)
        bench.machine.ended(subject)
        bench.machine.answered("s", .accepted(status: 200), now: bench.now)
        bench.step()
        #expect(bench.sent.last?.delivery.purpose == .remove && bench.states[decided] == .sent)
        let waiting = bench.add(.approvalRequested, subject: subject, delayMs: 1000)
        bench.machine.ended(subject)
        bench.step()
        #expect(bench.states[waiting] == .dropped)
    }

    @Test func `a dead sink costs a bounded queue`() throws {
        var bench = try Bench()
        let urgent = bench.add(.approvalRequested)
        bench.step(nil)
        for _ in 0..<1_500 { bench.add(.approvalRequested) }
        let small = bench.add(.linkOnline)
        bench.step(nil)
        #expect(bench.machine.waitingCount == NotificationLimits.queue + 1)
        #expect(bench.states[small] == .dropped && bench.states[urgent] == nil)
        #expect(bench.machine.results[.dropped] == 501)
    }

    @Test func `beyond the rate one message stands for many`() throws {
        var bench = try Bench(more: #","perHour":60"#)
        for _ in 0..<72 { bench.add() }
        bench.step()
        #expect(bench.sent.count == 60)
        let urgent = bench.add(.approvalRequested)
        bench.step()
        #expect(bench.sent.last?.delivery.notification == urgent)
        bench.advance(60_000)
        #expect(bench.sent.count == 62 && bench.sent.last?.others.count == 11)
        #expect(bench.states.values.allSatisfy { $0 == .sent } && bench.states.count == 73)
    }

    @Test func `of one key the newest is told`() throws {
        var bench = try Bench()
        let old = bench.add(collapse: "k", delayMs: 10)
        let new = bench.add(collapse: "k", delayMs: 10)
        bench.advance(20)
        #expect(bench.sent.map(\.delivery.notification) == [new] && bench.states[old] == .dropped)
    }

    private static let night = #"{"enabled":true,"from":"22:00","to":"07:00","mode":"MODE"}"#
    private static func night(_ mode: String) -> String { night.replacingText("MODE", with: mode) }
    /// 2026-11-18, 23:00.
    private static let late = Timestamp(milliseconds: 1_795_042_800_000)

    @Test func `at night it is held, and at seven the newest of each session is sent`() throws {
        var bench = try Bench()
        bench.now = Self.late
        try bench.quiet(Self.night("hold"))
        for index in 0..<500 { bench.add(session: "agent:main:\(index % 2)") }
        let approval = bench.add(.approvalRequested)
        bench.advance(7 * Self.hour)
        #expect(bench.sent.map(\.delivery.notification) == [approval])
        #expect(bench.states["n1"] == .held)
        bench.advance(Self.hour - 1)
        #expect(bench.sent.count == 1)
        bench.advance(1)
        #expect(bench.sent.dropFirst().map(\.delivery.notification) == ["n499", "n500"])
        #expect(bench.states["n1"] == .dropped && bench.states["n500"] == .sent)
    }

    @Test func `a new time zone releases what was held at once`() throws {
        var bench = try Bench()
        bench.now = Self.late
        try bench.quiet(Self.night("hold"))
        bench.add()
        bench.step()
        #expect(bench.sent.isEmpty)
        try bench.quiet(#"{"enabled":true,"from":"01:00","to":"02:00"}"#)
        bench.step()
        #expect(bench.sent.count == 1)
    }

    @Test func `a digest says how many there were`() throws {
        var bench = try Bench()
        bench.now = Self.late
        try bench.quiet(Self.night("digest"))
        bench.add()
        bench.add(.outboxFailed)
        bench.add(.runFailed, expiresInMs: 1000)
        let subject = Notification.Subject(.link, "gateway")
        bench.add(.linkOffline, subject: subject)
        bench.step()
        bench.machine.ended(subject)
        bench.advance(8 * Self.hour, nil)
        let digest = try #require(bench.sent.first)
        #expect(bench.sent.count == 1 && digest.isDigest && digest.others.count == 2 && digest.hiddenCount == 1)
        bench.machine.answered("s", .accepted(status: 200), now: bench.now)
        bench.step()
        #expect(["n1", "n2", "n3"].allSatisfy { bench.states[$0] == .sent } && bench.states["n4"] == .dropped)
    }

    /// An approval that nobody saw is reported too, and a receiver that is away at seven gets all of it later.
    @Test func `a digest that was not taken stays whole`() throws {
        var bench = try Bench()
        bench.now = Self.late
        try bench.quiet(
            #"{"enabled":true,"from":"22:00","to":"07:00","mode":"digest","allow":{"minPriority":5,"types":[]}}"#
        )
        for _ in 0..<3 { bench.add(.outboxFailed, expiresInMs: Self.hour) }
        bench.advance(8 * Self.hour, Self.dead)
        #expect(bench.sent.count == 1 && bench.states.values.allSatisfy { $0 == .held })
        bench.advance(Self.hour)
        let digest = try #require(bench.sent.last)
        #expect(bench.sent.count == 2 && digest.isDigest && digest.others.count == 2)
        #expect(bench.states.count == 3 && bench.states.values.allSatisfy { $0 == .sent })
    }

    @Test func `one approval that expired in the night is told at seven`() throws {
        var bench = try Bench()
        bench.now = Self.late
        try bench.quiet(#"{"enabled":true,"from":"22:00","to":"07:00","mode":"digest"}"#)
        bench.add(.outboxFailed, expiresInMs: Self.hour)
        bench.advance(8 * Self.hour)
        #expect(bench.sent.map(\.isDigest) == [true])
    }

    @Test func `the night of the change is as long as its clocks say`() throws {
        let input = try #require(FuzzInput.all(of: "TimeZone").first { $0.name.hasSuffix("Berlin") })
        let berlin = try #require(TimeZoneTable(parsing: input.bytes))
        for (evening, morning) in [
            ("2026-03-28T21:00:00Z", "2026-03-29T05:00:00Z"), ("2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"),
        ] {
            var bench = try Bench()
            bench.now = try #require(Timestamp(rfc3339: evening))
            let end = try #require(Timestamp(rfc3339: morning))
            try bench.quiet(Self.night("hold"), berlin)
            bench.add()
            bench.step()
            #expect(bench.machine.wakeAt == end)
            bench.advance(end.milliseconds - bench.now.milliseconds - 1)
            #expect(bench.sent.isEmpty)
            bench.advance(1)
            #expect(bench.sent.count == 1)
        }
    }

    @Test func `a clock that is set back into the night sends nothing twice`() throws {
        var bench = try Bench()
        bench.now = Self.late
        try bench.quiet(Self.night("hold"))
        bench.add(session: "a")
        bench.advance(8 * Self.hour)
        #expect(bench.sent.count == 1)
        bench.now = bench.now.adding(milliseconds: -2 * Self.hour)
        bench.step()
        bench.add(session: "b")
        bench.advance(2 * Self.hour - 1_000)
        #expect(bench.sent.count == 1)
        bench.advance(2_000)
        #expect(bench.sent.map(\.delivery.notification) == ["n1", "n2"])
    }

    @Test func `a sink hears how many found no room`() throws {
        var bench = try Bench()
        bench.add()
        bench.step(Self.dead)
        for _ in 0..<1_200 { bench.add() }
        #expect(bench.machine.health(of: "s")?.dropped == 201)
        bench.advance(10_000)
        #expect(bench.sent.dropFirst().first { $0.delivery.attempts > 0 }?.lostCount == 201)
        #expect(bench.machine.health(of: "s")?.dropped == 0 && bench.sent.last?.lostCount == 0)
    }

    @Test func `a sink may have a night of its own`() throws {
        var bench = try Bench()
        bench.now = Self.late
        try bench.quiet(Self.night("drop"))
        let own = #"{"from":"23:30","to":"01:00","timeZone":"UTC","mode":"digest"}"#
        try bench.add(sink: "s", more: #","quietHours":\#(own)"#)
        bench.add()
        bench.step()
        #expect(bench.sent.count == 1)
        bench.advance(Self.hour)
        for _ in 0..<3 { bench.add() }
        bench.step()
        #expect(bench.sent.count == 1 && bench.states["n2"] == .held)
        bench.advance(Self.hour)
        #expect(bench.sent.count == 2 && bench.sent.last?.isDigest == true && bench.sent.last?.others.count == 2)
    }

    @Test func `quiet hours drop, a sink ignores them, and mute spares the urgent`() throws {
        var bench = try Bench()
        bench.now = Self.late
        try bench.quiet(Self.night("drop"))
        let dropped = bench.add()
        bench.step()
        #expect(bench.states[dropped] == .dropped && bench.sent.isEmpty)
        try bench.add(sink: "s", more: #","quietHours":"ignore""#)
        bench.add()
        bench.step()
        #expect(bench.sent.count == 1)
        bench.machine.mute(until: bench.now.adding(milliseconds: Self.hour))
        let muted = bench.add()
        bench.add(.approvalRequested)
        bench.step()
        #expect(bench.states[muted] == .dropped && bench.sent.count == 2)
        bench.now = bench.now.adding(milliseconds: Self.hour)
        bench.add()
        bench.step()
        #expect(bench.sent.count == 3)
    }
}
