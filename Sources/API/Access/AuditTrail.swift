package import Access
import Dispatch
import EventLoops

/// Audit lines on their way to their file: made anywhere, hashed and written in order on a queue of their own.
package final class AuditTrail: Sendable {
    private let queue = DispatchQueue(label: "ladle.audit")
    private let file: Locked<AuditFile>
    private let failed: @Sendable (AuditFile.Failure) -> Void

    package init(path: String, limit: UInt64, keep: Int, failed: @escaping @Sendable (AuditFile.Failure) -> Void) {
        file = Locked(AuditFile(path: path, limit: limit, keep: keep))
        self.failed = failed
    }

    /// `make` runs on the queue: hashing a body of megabytes is no work for a loop.
    package func record(_ make: @escaping @Sendable () -> AuditRecord) {
        queue.async { [self] in
            let line = make().line
            do {
                try file.withLock { try $0.append(line) }
            } catch let failure as AuditFile.Failure {
                failed(failure)
            } catch {}
        }
    }

    /// Returns when everything recorded before is in the file.
    package func finish() async {
        await withCheckedContinuation { done in queue.async { done.resume() } }
    }
}
