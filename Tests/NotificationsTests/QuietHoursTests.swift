import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Notifications

struct QuietHoursTests {
    private static func zone(_ name: String) throws -> TimeZoneTable {
        let input = try #require(FuzzInput.all(of: "TimeZone").first { $0.name.hasSuffix(name) })
        return try #require(TimeZoneTable(parsing: input.bytes))
    }

    private static func hours(_ text: String) throws -> QuietHours {
        var hours = QuietHours(timeZone: "Europe/Berlin")
        try hours.take(JSONDocument(parsing: text).root)
        return hours
    }

    private static func end(_ text: String, _ now: String, in name: String = "Berlin") throws -> String? {
        let time = try #require(Timestamp(rfc3339: now))
        return try hours(text).end(at: time, zone(name))?.rfc3339
    }

    private static let night = #"{"enabled":true,"from":"22:00","to":"07:00"}"#

    @Test(arguments: [
        ("2026-01-10T21:59:59.999+01:00", nil), ("2026-01-10T22:00:00+01:00", "2026-01-11T06:00:00.000Z"),
        ("2026-01-11T00:00:00+01:00", "2026-01-11T06:00:00.000Z"),
        ("2026-01-11T06:59:59.999+01:00", "2026-01-11T06:00:00.000Z"), ("2026-01-11T07:00:00+01:00", nil),
        ("2026-01-11T12:00:00+01:00", nil),
    ])
    func `the window has its first moment and not its last, and reaches over midnight`(
        _ now: String,
        _ end: String?
    ) throws {
        #expect(try Self.end(Self.night, now) == end)
    }

    @Test func `a window within a day, and one that is off`() throws {
        let noon = #"{"enabled":true,"from":"12:00","to":"14:30"}"#
        #expect(try Self.end(noon, "2026-01-10T11:59:59+01:00") == nil)
        #expect(try Self.end(noon, "2026-01-10T14:29:59+01:00") == "2026-01-10T13:30:00.000Z")
        #expect(try Self.end(noon, "2026-01-10T14:30:00+01:00") == nil)
        #expect(try Self.end(#"{"from":"12:00","to":"14:30"}"#, "2026-01-10T13:00:00+01:00") == nil)
    }

    @Test(arguments: [
        // 2026-01-09 is a Friday.
        ("2026-01-09T21:59:00+01:00", false), ("2026-01-09T22:00:00+01:00", true),
        ("2026-01-10T03:00:00+01:00", true), ("2026-01-10T07:00:00+01:00", false),
        ("2026-01-10T23:00:00+01:00", false), ("2026-01-09T03:00:00+01:00", false),
    ])
    func `a day is the day on which the window starts`(_ now: String, _ isQuiet: Bool) throws {
        let friday = #"{"enabled":true,"from":"22:00","to":"07:00","days":["fri"]}"#
        #expect(try (Self.end(friday, now) != nil) == isQuiet)
    }

    @Test(arguments: [
        // Spring, 2026-03-29: clocks jump from 02:00 to 03:00, at 01:00 UTC.
        (#"{"enabled":true,"from":"02:30","to":"07:00"}"#, "2026-03-29T00:59:59Z", nil),
        (#"{"enabled":true,"from":"02:30","to":"07:00"}"#, "2026-03-29T01:00:00Z", "2026-03-29T05:00:00.000Z"),
        (#"{"enabled":true,"from":"22:00","to":"02:30"}"#, "2026-03-29T00:59:59Z", "2026-03-29T01:00:00.000Z"),
        (#"{"enabled":true,"from":"22:00","to":"02:30"}"#, "2026-03-29T01:00:00Z", nil),
        (#"{"enabled":true,"from":"22:00","to":"07:00"}"#, "2026-03-29T04:59:59Z", "2026-03-29T05:00:00.000Z"),
        (#"{"enabled":true,"from":"22:00","to":"07:00"}"#, "2026-03-29T05:00:00Z", nil),
        // Autumn, 2026-10-25: clocks go back from 03:00 to 02:00, at 01:00 UTC. 02:30 is at 00:30 and at 01:30.
        (#"{"enabled":true,"from":"22:00","to":"02:30"}"#, "2026-10-25T00:30:00Z", "2026-10-25T01:30:00.000Z"),
        (#"{"enabled":true,"from":"22:00","to":"02:30"}"#, "2026-10-25T01:29:59Z", "2026-10-25T01:30:00.000Z"),
        (#"{"enabled":true,"from":"22:00","to":"02:30"}"#, "2026-10-25T01:30:00Z", nil),
        (#"{"enabled":true,"from":"02:30","to":"07:00"}"#, "2026-10-25T00:29:59Z", nil),
        (#"{"enabled":true,"from":"02:30","to":"07:00"}"#, "2026-10-25T00:30:00Z", "2026-10-25T06:00:00.000Z"),
        (#"{"enabled":true,"from":"02:30","to":"07:00"}"#, "2026-10-25T01:10:00Z", "2026-10-25T06:00:00.000Z"),
    ])
    func `the clock changes twice a year`(_ hours: String, _ now: String, _ end: String?) throws {
        #expect(try Self.end(hours, now) == end)
    }

    /// Both boundaries in the hour that is skipped, or repeated; and a window that lasts almost a day.
    @Test(
        arguments: [
            ("02:10", "02:50", "2026-03-29T00:59:59Z", nil), ("02:10", "02:50", "2026-03-29T01:00:00Z", nil),
            ("02:10", "02:50", "2026-10-25T00:09:59Z", nil),
            ("02:10", "02:50", "2026-10-25T00:10:00Z", "2026-10-25T01:50:00.000Z"),
            ("02:10", "02:50", "2026-10-25T01:49:59Z", "2026-10-25T01:50:00.000Z"),
            ("02:10", "02:50", "2026-10-25T01:50:00Z", nil),
            ("02:50", "02:10", "2026-10-25T00:55:00Z", "2026-10-26T01:10:00.000Z"),
            ("02:50", "02:10", "2026-10-24T12:00:00Z", "2026-10-25T01:10:00.000Z"),
            ("03:00", "02:00", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00.000Z"),
            ("03:00", "02:00", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00.000Z"),
        ] as [(String, String, String, String?)]
    )
    func `boundaries within the change itself`(_ from: String, _ to: String, _ now: String, _ end: String?) throws {
        #expect(try Self.end(#"{"enabled":true,"from":"\#(from)","to":"\#(to)"}"#, now) == end)
    }

    /// Clocks of Lord Howe change by half an hour: 2026-04-05 from 02:00 to 01:30 at 15:00 UTC, 2026-10-04 from 02:00 to 02:30 at
    /// 15:30 UTC. Nepal is 5:45 ahead; Morocco goes back for Ramadan.
    @Test(
        arguments: [
            ("Lord_Howe", "02:15", "07:00", "2026-10-03T15:29:59Z", nil),
            ("Lord_Howe", "02:15", "07:00", "2026-10-03T15:30:00Z", "2026-10-03T20:00:00.000Z"),
            ("Lord_Howe", "22:00", "02:15", "2026-10-03T15:29:59Z", "2026-10-03T15:30:00.000Z"),
            ("Lord_Howe", "22:00", "02:15", "2026-10-03T15:30:00Z", nil),
            ("Lord_Howe", "22:00", "01:45", "2026-04-04T14:50:00Z", "2026-04-04T15:15:00.000Z"),
            ("Lord_Howe", "22:00", "01:45", "2026-04-04T15:14:59Z", "2026-04-04T15:15:00.000Z"),
            ("Lord_Howe", "22:00", "01:45", "2026-04-04T15:15:00Z", nil),
            ("Lord_Howe", "01:45", "07:00", "2026-04-04T14:44:59Z", nil),
            ("Lord_Howe", "01:45", "07:00", "2026-04-04T14:45:00Z", "2026-04-04T20:30:00.000Z"),
            ("Lord_Howe", "01:45", "07:00", "2026-04-04T15:10:00Z", "2026-04-04T20:30:00.000Z"),
            ("Kathmandu", "22:00", "07:00", "2026-06-01T16:14:59Z", nil),
            ("Kathmandu", "22:00", "07:00", "2026-06-01T16:15:00Z", "2026-06-02T01:15:00.000Z"),
            ("Casablanca", "22:00", "07:00", "2026-03-21T22:00:00Z", "2026-03-22T06:00:00.000Z"),
            ("Dublin", "22:00", "01:30", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00.000Z"),
            ("Dublin", "22:00", "01:30", "2026-10-25T01:29:59Z", "2026-10-25T01:30:00.000Z"),
        ] as [(String, String, String, String, String?)]
    )
    func `zones with half hours, quarters and their own summer`(
        _ zone: String,
        _ from: String,
        _ to: String,
        _ now: String,
        _ end: String?
    ) throws {
        #expect(try Self.end(#"{"enabled":true,"from":"\#(from)","to":"\#(to)"}"#, now, in: zone) == end)
    }

    /// At every minute of both nights: within a window exactly when a wall clock set by hand would show so.
    @Test(arguments: ["2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"])
    func `a window is one piece, from its start to its end`(_ noon: String) throws {
        let berlin = try Self.zone("Berlin")
        let start = try #require(Timestamp(rfc3339: noon))
        for (from, to) in [("22:00", "07:00"), ("01:59", "02:01"), ("02:30", "03:30"), ("23:59", "02:00")] {
            let hours = try Self.hours(#"{"enabled":true,"from":"\#(from)","to":"\#(to)"}"#)
            let ends = (0..<24 * 60).map { hours.end(at: start.adding(milliseconds: Int64($0) * 60_000), berlin) }
            let changes = zip(ends, ends.dropFirst()).filter { $0 != $1 }
            #expect(changes.count == 2 && Set(ends.compactMap(\.self)).count == 1)
        }
    }

    @Test(arguments: [
        (#"{"from":"22:00","to":"22:00"}"#, "to"), (#"{"from":"24:00"}"#, "from"), (#"{"from":"7:00"}"#, "from"),
        (#"{"to":420}"#, "to"), (#"{"timeZone":"../etc/passwd"}"#, "timeZone"), (#"{"days":["friday"]}"#, "days"),
        (#"{"mode":"sleep"}"#, "mode"), (#"{"allow":{"minPriority":9}}"#, "minPriority"),
        (#"{"allow":{"types":["nothing"]}}"#, "types"), (#"{"enabled":1}"#, "enabled"),
    ])
    func `a field that says nothing is named`(_ text: String, _ field: String) throws {
        let fault = #expect(throws: FormFault.self) { _ = try Self.hours(text) }
        #expect(fault?.field == field)
    }

    @Test func `settings survive the disk, and say what passes`() throws {
        let hours = try Self.hours(
            #"{"enabled":true,"from":"23:05","to":"06:30","days":["sat","sun"],"mode":"digest","allow":{"minPriority":4,"types":["link.*"]}}"#
        )
        #expect(QuietHours(kept: hours.kept) == hours)
        #expect(hours.admits(.linkOnline, priority: 2) && hours.admits(.runFailed, priority: 4))
        #expect(!hours.admits(.runCompleted, priority: 3))
        let usual = QuietHours(timeZone: "UTC")
        #expect(!usual.isEnabled && usual.mode == .hold && usual.admits(.approvalRequested, priority: 1))
    }
}
