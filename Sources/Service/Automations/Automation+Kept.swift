import Basics
import Gateway
import JSONBytes

extension Automation: KeptRow {
    /// Without the text, which may hold secrets.
    func writeKept(to writer: inout JSONWriter) { write(to: &writer) }

    init?(kept row: JSONValue) {
        guard let id = row["id"]?.string else { return nil }
        let time = { (value: JSONValue?) in value?.string.flatMap { Timestamp(rfc3339: $0) } }
        self.id = id
        name = row["name"]?.string ?? id
        explanation = row["description"]?.string
        agent = row["agent"]?.string
        session = row["session"]?.string
        isEnabled = row["enabled"]?.bool ?? true
        deletesAfterRun = row["deleteAfterRun"]?.bool ?? false
        createdAt = time(row["createdAt"])
        updatedAt = time(row["updatedAt"])
        schedule = CronJob.Schedule(row["schedule"])
        target = row["target"]?.string
        kind = row["kind"]?.string ?? "other"
        work = nil
        nextRunAt = time(row["nextRunAt"])
        runningSince = time(row["runningSince"])
        failures = row["failures"]?.int ?? 0
        guard let ended = row["last"], let at = time(ended["at"]) else { return }
        last = LastRun(
            at: at,
            status: ended["status"]?.string ?? "unknown",
            durationMs: ended["durationMs"]?.int,
            error: ended["error"]?.string,
            wasDelivered: ended["delivered"]?.bool
        )
    }
}

extension CronJob.Schedule {
    /// Reads the form that `write` writes.
    fileprivate init(_ value: JSONValue?) {
        switch value?["kind"]?.string {
        case "at": self = .at(value?["at"]?.string.flatMap { Timestamp(rfc3339: $0) })
        case "every": self = .every(milliseconds: value?["everyMs"]?.int ?? 0)
        case "cron":
            self = .cron(expression: value?["expression"]?.string ?? "", timeZone: value?["timeZone"]?.string)
        default: self = .other(value?["text"]?.string ?? "other")
        }
    }
}
