import DemoGateway
import JSONBytes
import POSIX

/// Records every received decision about an approval in a file: one JSON line each, written before the answer is sent.
/// The time is the host's monotonic clock, which a client on the same host can compare with its own.
final class DecisionRecord {
    private let file: OpenFile

    init(file path: String) throws(SystemError) { file = try OpenFile.appending(to: path) }

    /// - Parameter outcome: `applied`, `repeated` or `refused` by the gateway, or `lost` on the way.
    func append(_ id: String, _ decision: String, _ outcome: String, at now: DemoInstant) {
        let value: WireValue = [
            "id": id, "decision": decision, "outcome": outcome, "ns": Int64(clamping: now.monotonic),
        ]
        try? file.write(value.bytes + [0x0a])
    }
}
