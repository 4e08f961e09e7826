package import Basics
import JSONBytes

/// A job was added, changed, started, ended or removed. Later releases send the whole job with it.
package struct CronEvent: Sendable {
    package let jobId: String?
    package let action: String?
    package let job: CronJob?
    package let status: String?
    package let error: String?
    package let runAt: Timestamp?
    package let durationMs: Int64?
    package let nextRunAt: Timestamp?

    init(_ payload: JSONValue) {
        jobId = payload["jobId"]?.identifier
        action = payload["action"]?.string
        job = payload["job"].flatMap { CronJob($0) }
        status = payload["status"]?.identifier
        error = payload["error"]?.string
        runAt = GatewayTime.read(payload["runAtMs"])
        durationMs = GatewayTime.duration(payload["durationMs"])
        nextRunAt = GatewayTime.read(payload["nextRunAtMs"])
    }
}
