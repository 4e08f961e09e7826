package import Access
import Dispatch
import Synchronization

/// Writes audit lines in order on a queue of its own. Any thread may record one.
package final class AuditTrail: Sendable {
    private let queue = DispatchQueue(label: "ladle.audit")
    private let file: Mutex<AuditFile>
    private let failed: @Sendable (AuditFile.Failure) -> Void

    package init(path: String, limit: UInt64, keep: Int, failed: @escaping @Sendable (AuditFile.Failure) -> Void) {
        file = Mutex(AuditFile(path: path, limit: limit, keep: keep))
        self.failed = failed
    }

    /// `make` runs on the queue, because hashing a body of megabytes would block an event loop.
    package func record(_ make: @escaping @Sendable () -> AuditRecord) {
        queue.async { [self] in
            let line = make().line
            do throws(AuditFile.Failure) {
                try file.withLock { file throws(AuditFile.Failure) in try file.append(line) }
            } catch {
                failed(error)
            }
        }
    }

    /// Returns when every line recorded so far is in the file.
    package func finish() async {
        await withCheckedContinuation { done in queue.async { done.resume() } }
    }
}
