import Access
import Basics
import HTTPModel
import POSIX
import TLS
import TestSupport
import Testing

struct TailnetCertificateTests {
    private static let name = "box.tail1.ts.net"

    private static func status(_ body: String) throws(CertificateObstacle) -> String {
        try TailnetCertificate.name(in: .complete(.ok, body: Array(body.utf8)))
    }

    private static func identity(
        _ body: [UInt8],
        for name: String = name,
        now: String = "2026-02-01T00:00:00Z"
    ) throws -> TLSIdentity {
        let time = try #require(Timestamp(rfc3339: now))
        return try TailnetCertificate.identity(in: .complete(.ok, body: body), for: name, now: time)
    }

    @Test func `the request is that of tailscale cert`() {
        let text = String(decoding: TailnetCertificate.request(for: Self.name), as: UTF8.self)
        #expect(
            text.hasPrefix(
                "GET /localapi/v0/cert/box.tail1.ts.net?type=pair HTTP/1.1\r\nHost: local-tailscaled.sock\r\n"
            )
        )
    }

    @Test func `a certificate can be had for the host's own name, where tailscaled lists it`() throws {
        let own =
            #"{"BackendState":"Running","Self":{"DNSName":"Box.tail1.ts.net."},"CertDomains":["x.ts.net","box.tail1.ts.net"]}"#
        #expect(try Self.status(own) == Self.name)
    }

    @Test(arguments: ["null", "[]", #"["other.tail1.ts.net"]"#, #""box.tail1.ts.net""#])
    func `without the name in the list HTTPS is off`(domains: String) {
        let text = #"{"BackendState":"Running","Self":{"DNSName":"box.tail1.ts.net."},"CertDomains":\#(domains)}"#
        #expect(throws: CertificateObstacle.httpsOff) { try Self.status(text) }
    }

    @Test func `a host outside its tailnet has no name to ask for`() {
        #expect(throws: CertificateObstacle.notConnected("NeedsLogin")) {
            try Self.status(#"{"BackendState":"NeedsLogin","Self":{"DNSName":""}}"#)
        }
        for name in ["", ".", "..", "a/../b", "a b", "a?x=1", "a%2f"] {
            let text = #"{"BackendState":"Running","Self":{"DNSName":"\#(name)"},"CertDomains":["\#(name)"]}"#
            #expect(throws: CertificateObstacle.notConnected("it has no name there")) { try Self.status(text) }
        }
        for text in ["", "[]", "null", "<html>"] {
            #expect(throws: CertificateObstacle.noAnswer("its status is not JSON")) { try Self.status(text) }
        }
    }

    @Test func `the answer is key and chain, and is taken as it comes`() throws {
        let pem = try TestData.bytes("tailnet-pair.pem")
        let identity = try Self.identity(pem)
        #expect(identity.chainPEM == pem && identity.info.names == [.dns(Self.name)] && !identity.info.isSelfSigned)
    }

    @Test func `a certificate of another name or another time is refused`() throws {
        let pem = try TestData.bytes("tailnet-pair.pem")
        #expect(throws: CertificateObstacle.unusable("it is for box.tail1.ts.net, not for other.tail1.ts.net")) {
            try Self.identity(pem, for: "other.tail1.ts.net")
        }
        #expect(throws: CertificateObstacle.unusable("it begins at 2026-01-01T00:00:00.000Z")) {
            try Self.identity(pem, now: "2025-12-31T23:59:59Z")
        }
        #expect(throws: CertificateObstacle.unusable("it expired at 2026-04-01T00:00:00.000Z")) {
            try Self.identity(pem, now: "2026-04-01T00:00:00Z")
        }
        _ = try Self.identity(pem, now: "2026-01-01T00:00:00Z")
    }

    @Test func `a key of another certificate, or a certificate that nobody vouches for, is refused`() throws {
        let pem = try TestData.bytes("tailnet-pair.pem")
        let own = try SelfSignedCertificate.make(names: [Self.name], validDays: 1)
        let now = Timestamp(milliseconds: HostClock.wallMilliseconds).rfc3339
        #expect(throws: CertificateObstacle.unusable("no authority has signed it")) {
            try Self.identity(own.keyPEM + own.certificatePEM, now: now)
        }
        #expect(throws: CertificateObstacle.self) { try Self.identity(own.keyPEM + pem) }
        #expect(throws: CertificateObstacle.self) { try Self.identity(own.certificatePEM + pem) }
        #expect(throws: CertificateObstacle.unusable("it is too long")) {
            try Self.identity(pem + [UInt8](repeating: 0x0A, count: 64 << 10))
        }
    }

    @Test func `each refusal of tailscaled has its reason and its command`() throws {
        func obstacle(_ status: HTTPStatus, _ body: String) -> CertificateObstacle? {
            #expect(throws: CertificateObstacle.self) {
                _ = try TailnetCertificate.name(in: .complete(status, body: Array(body.utf8)))
            }
        }
        let denied = try #require(obstacle(.forbidden, "cert access denied\n"))
        #expect(
            denied == .denied(uid: CurrentProcess.effectiveUser)
                && denied.hint.contains("\(CurrentProcess.effectiveUser)")
        )
        #expect(obstacle(.tooManyRequests, "acme: rate limited\n") == .limited("acme: rate limited"))
        #expect(obstacle(HTTPStatus(500), "a\r\nb\u{1B}[31m\u{202E}c") == .failed("a b[31mc"))
        #expect(obstacle(HTTPStatus(500), "") == .failed("status 500"))
        let long = try #require(obstacle(HTTPStatus(500), String(repeating: "ä", count: 1000)))
        #expect(long.detail.utf8.count < 400)
        #expect(throws: CertificateObstacle.noAnswer("cut")) { try TailnetCertificate.name(in: .failed("cut")) }
    }
}

struct CertificateScheduleTests {
    private static let minute: Int64 = 60_000
    private static let day: Int64 = 86_400_000
    private let begin = Timestamp(milliseconds: 1_800_000_000_000)

    private func period(_ days: Int64) -> CertificatePeriod {
        CertificatePeriod(notBefore: begin, notAfter: begin.adding(milliseconds: days * Self.day))
    }

    /// The first minute in which it is due, looked at every minute as the program does.
    private func pause(_ schedule: CertificateSchedule, after now: Timestamp) -> Int64 {
        (1...3000).first { schedule.isDue(at: now.adding(milliseconds: $0 * Self.minute)) } ?? -1
    }

    @Test func `the first question is asked at once`() {
        #expect(CertificateSchedule().isDue(at: begin))
    }

    @Test func `a young certificate is asked for daily, one in its last third hourly`() {
        var schedule = CertificateSchedule()
        schedule.issued(period(90), at: begin)
        #expect(pause(schedule, after: begin) == 1440)
        // Nine hours before its last third the pause ends there.
        let before = begin.adding(milliseconds: 60 * Self.day - 9 * 60 * Self.minute)
        schedule.issued(period(90), at: before)
        #expect(pause(schedule, after: before) == 540)
        for days: Int64 in [60, 75, 90, 100] {
            let late = begin.adding(milliseconds: days * Self.day)
            schedule.issued(period(90), at: late)
            #expect(pause(schedule, after: late) == 60)
        }
    }

    @Test func `a certificate of six days is renewed in time too`() {
        var (schedule, now) = (CertificateSchedule(), begin)
        var questions = 0
        // tailscaled renews it behind the first question of the last third, so the next one gets the new one.
        while now < period(6).lastThird {
            schedule.issued(period(6), at: now)
            now = now.adding(milliseconds: pause(schedule, after: now) * Self.minute)
            questions += 1
        }
        #expect(questions == 4 && now == period(6).lastThird)
    }

    @Test(arguments: [CertificateObstacle.noTailscaled, .notConnected("Stopped"), .httpsOff, .denied(uid: 1)])
    func `a reason that is found on this host is looked at every minute`(obstacle: CertificateObstacle) {
        var schedule = CertificateSchedule()
        for _ in 0..<5 {
            schedule.failed(obstacle, at: begin)
            #expect(pause(schedule, after: begin) == 1)
        }
    }

    @Test func `an authority is not asked more often than it allows`() {
        var schedule = CertificateSchedule()
        var pauses: [Int64] = []
        for _ in 0..<6 {
            schedule.failed(.failed("x"), at: begin)
            pauses.append(pause(schedule, after: begin))
        }
        #expect(pauses == [1, 10, 60, 360, 360, 360])
        schedule.issued(period(90), at: begin)
        schedule.failed(.noAnswer("x"), at: begin)
        #expect(pause(schedule, after: begin) == 1)
        schedule.failed(.limited("x"), at: begin)
        #expect(pause(schedule, after: begin) == 360)
        schedule.restart()
        #expect(schedule.isDue(at: begin))
    }

    @Test func `a clock that is set back asks at once`() {
        var schedule = CertificateSchedule()
        schedule.issued(period(90), at: begin)
        #expect(!schedule.isDue(at: begin) && schedule.isDue(at: begin.adding(milliseconds: -1)))
    }

    @Test func `times out of all bounds are no trap`() {
        var schedule = CertificateSchedule()
        let (first, last) = (Timestamp(milliseconds: .min), Timestamp(milliseconds: .max))
        for (from, to, now) in [(first, last, begin), (last, first, begin), (first, last, last), (last, last, first)] {
            schedule.issued(CertificatePeriod(notBefore: from, notAfter: to), at: now)
            _ = schedule.isDue(at: first)
            _ = schedule.isDue(at: last)
        }
    }
}
