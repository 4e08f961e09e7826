import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Notifications

struct QuietHoursTests {
    private static func berlin() throws -> TimeZoneTable {
        let input = try #require(FuzzInput.all(of: "TimeZone").first { $0.name.hasSuffix("Berlin") })
        return try #require(TimeZoneTable(parsing: input.bytes))
    }

    private static func hours(_ text: String) throws -> QuietHours {
        var hours = QuietHours(timeZone: "Europe/Berlin")
        try hours.take(JSONDocument(parsing: text).root)
        return hours
    }

    private static func end(_ text: String, _ now: String) throws -> String? {
        let time = try #require(Timestamp(rfc3339: now))
        return try hours(text).end(at: time, berlin())?.rfc3339
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
