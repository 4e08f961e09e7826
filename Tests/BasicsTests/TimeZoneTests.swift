import TestSupport
import Testing

@testable import Basics

/// The seeds and findings of the fuzz driver.
struct TimeZoneFuzzReplayTests {
    @Test(arguments: FuzzInput.all(of: "TimeZone"))
    func `a time zone holds for`(_ input: FuzzInput) {
        let problem = TimeZoneProof.problem(with: input.bytes)
        #expect(problem == nil)
    }
}

struct TimeZoneTests {
    private static func zone(_ name: String) throws -> TimeZoneTable {
        let input = try #require(FuzzInput.all(of: "TimeZone").first { $0.name.hasSuffix(name) })
        return try #require(TimeZoneTable(parsing: input.bytes))
    }

    private static func seconds(_ text: String) throws -> Int64 {
        try #require(Timestamp(rfc3339: text)).milliseconds / 1000
    }

    @Test(arguments: [
        ("Berlin", "1890-01-01T00:00:00Z", 3_208), ("Berlin", "1970-01-01T00:00:00Z", 3_600),
        ("Berlin", "2026-03-29T00:59:59Z", 3_600), ("Berlin", "2026-03-29T01:00:00Z", 7_200),
        ("Berlin", "2026-10-25T00:59:59Z", 7_200), ("Berlin", "2026-10-25T01:00:00Z", 3_600),
        // After the table, by the rule.
        ("Berlin", "2090-07-01T00:00:00Z", 7_200), ("Berlin", "2090-12-31T23:59:59Z", 3_600),
        ("Lord_Howe", "2026-01-01T00:00:00Z", 39_600), ("Lord_Howe", "2060-07-01T00:00:00Z", 37_800),
        ("Kathmandu", "2026-01-01T00:00:00Z", 20_700), ("UTC", "2026-01-01T00:00:00Z", 0),
        ("Dublin", "2070-01-15T00:00:00Z", 0), ("Dublin", "2070-07-15T00:00:00Z", 3_600),
    ])
    func `an offset is that of its time`(_ name: String, _ time: String, _ offset: Int) throws {
        #expect(try Self.zone(name).offset(at: Self.seconds(time)) == offset)
    }

    @Test func `a file that ends early or goes against the rules is no zone`() throws {
        let input = try #require(FuzzInput.all(of: "TimeZone").first { $0.name.hasSuffix("Berlin") })
        let whole = input.bytes
        for count in whole.indices { #expect(TimeZoneTable(parsing: Array(whole.prefix(count))) == nil) }
        #expect(TimeZoneTable(parsing: Array(repeating: 0x54, count: TimeZoneTable.fileBytes + 1)) == nil)
        var other = whole
        other[0] = 0x55
        #expect(TimeZoneTable(parsing: other) == nil)
    }

    @Test(arguments: [
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2027-03-28T00:59:59Z", 3_600),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2027-03-28T01:00:00Z", 7_200),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2027-10-31T01:00:00Z", 3_600),
        // South of the equator, across the new year.
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2027-01-01T00:00:00Z", 39_600),
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2027-07-01T00:00:00Z", 36_000),
        // Summer all year, as RFC 9636 writes it.
        ("XXX3EDT4,0/0,J365/23", "2027-12-31T23:59:59Z", -14_400),
        ("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "2027-07-01T00:00:00Z", -7_200),
        ("EST5EDT,J60,300/26", "2028-03-01T07:00:00Z", -14_400),
        ("EST5EDT,J60,300/26", "2028-03-01T06:59:59Z", -18_000), ("<+0545>-5:45", "2027-01-01T00:00:00Z", 20_700),
    ])
    func `a rule holds for all years`(_ text: String, _ time: String, _ offset: Int) throws {
        let rule = try #require(ZoneRule(Array(text.utf8)[...]))
        #expect(rule.offset(at: try Self.seconds(time)) == offset)
    }

    @Test(arguments: [
        "", "CE-1", "CET", "CET-25", "CET-1CEST", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-1CEST,J0,J365",
        "CET-1CEST,366,1", "CET-1CEST,M3.5.0/168,M10.5.0", "<a>1", "CET-1:60", "CET--1",
    ])
    func `a text that is not a rule is refused`(_ text: String) { #expect(ZoneRule(Array(text.utf8)[...]) == nil) }

    @Test(arguments: [
        ("Europe/Berlin", true), ("America/Argentina/Buenos_Aires", true), ("Etc/GMT+12", true), ("UTC", true),
        ("", false),
        ("/etc/passwd", false), ("../etc/passwd", false), ("Europe/../..", false), ("a//b", false), ("a/b/c/d", false),
        ("Europe/Berlin\0", false), ("right/UTC", false), ("posix/UTC", false),
        (String(repeating: "a", count: 65), false),
    ])
    func `a name leads to no other file`(_ name: String, _ isName: Bool) {
        #expect(TimeZoneTable.isName(name) == isName)
    }

    @Test func `a day is read and written`() throws {
        for text in ["1970-01-01", "2024-02-29", "2026-11-23", "9999-12-31"] {
            #expect(CivilDate(iso: text)?.iso == text)
        }
        for text in [
            "", "2026-11-31", "2026-02-29", "2026-00-01", "2026-1-1", "2026-11-2x", "2026-11-23Z", "+026-11-23",
        ] {
            #expect(CivilDate(iso: text) == nil)
        }
    }
}
