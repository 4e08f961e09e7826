import Basics
package import JSONBytes

/// The record of a sink's recent results.
package struct SinkHealth: Sendable, Equatable {
    package enum State: String, Sendable {
        case ok, failing, disabled
    }

    /// Failures in a row before the sink counts as failing.
    private static let failuresUntilFailing = 5
    private static let attemptsUntilDisabled = 20
    private static let failingMs: Int64 = 5 * 86_400_000
    /// A credential refused so often in a row is wrong.
    private static let denialsUntilDisabled = 3

    package private(set) var state = State.ok
    /// The number in a row.
    package private(set) var failures = 0
    private var failingSince: Timestamp?
    private var denials = 0
    private var lastSuccessAt: Timestamp?
    package private(set) var lastError: String?
    private var lastStatus: Int?
    /// Notifications dropped from a full queue since the last accepted message.
    package private(set) var dropped = 0

    package init() {}

    mutating func lost() { dropped += 1 }

    mutating func succeeded(_ status: Int?, now: Timestamp) {
        self = SinkHealth()
        lastSuccessAt = now
        lastStatus = status
    }

    mutating func failed(_ status: Int?, _ error: String, kind: NotificationSink.Kind, now: Timestamp) {
        failures += 1
        failingSince = min(failingSince ?? now, now)
        lastError = error
        lastStatus = status
        denials = status == 401 || status == 403 ? denials + 1 : 0
        let isOld = failingSince.map { now.milliseconds - $0.milliseconds >= Self.failingMs } ?? false
        if kind == .webhook && status == 410 || denials >= Self.denialsUntilDisabled
            || isOld && failures >= Self.attemptsUntilDisabled
        {
            state = .disabled
        } else if failures >= Self.failuresUntilFailing {
            state = .failing
        }
    }

    /// The pause after failures: a failing sink is tried less often, up to every five minutes.
    var pauseMs: Int64 {
        guard failures >= Self.failuresUntilFailing else { return 0 }
        return min(5_000 << Int64(min(failures - Self.failuresUntilFailing, 6)), 300_000)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("state", state.rawValue)
        writer.member("failures", failures)
        writer.member("lastSuccessAt", lastSuccessAt)
        writer.member("lastStatus", lastStatus)
        writer.member("lastError", lastError)
        if dropped > 0 { writer.member("dropped", dropped) }
    }

    package var kept: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            writeMembers(to: &object)
            object.member("failingSince", failingSince)
            object.member("denials", denials)
        }
        return writer.bytes
    }

    package init?(kept json: [UInt8]) {
        guard let value = try? JSONDocument(parsing: json).root, let state = value["state"]?.string.flatMap(State.init)
        else { return nil }
        self.state = state
        failures = value["failures"]?.int.map { Int(clamping: $0) } ?? 0
        lastSuccessAt = value["lastSuccessAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        lastStatus = value["lastStatus"]?.int.map { Int(clamping: $0) }
        lastError = value["lastError"]?.string
        failingSince = value["failingSince"]?.string.flatMap { Timestamp(rfc3339: $0) }
        denials = value["denials"]?.int.map { Int(clamping: $0) } ?? 0
        dropped = value["dropped"]?.int.map { Int(clamping: $0) } ?? 0
    }
}
