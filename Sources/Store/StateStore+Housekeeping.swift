import Dispatch
import SQLite
import Synchronization

/// What happens between bursts: old rows go, and the log of the database is written back into it.
extension StateStore {
    func afterBurst() {
        if retention.isDue {
            retention.began()
            prune()
        }
        planCheckpoint()
    }

    private func planCheckpoint() {
        switch checkpoints.next(logPages: connection.logPages) {
        case .nothing: break
        case .now: checkpointBeside()
        case .whenIdle(let generation): scheduleIdleCheckpoint(generation)
        case .blocking:
            _ = try? connection.checkpoint(.restart)
            shared.withLock { $0.statistics.checkpoints += 1 }
        }
    }

    private func scheduleIdleCheckpoint(_ generation: Int64) {
        executor.queue.asyncAfter(deadline: .now() + CheckpointPlan.idle) { [weak self] in
            self?.assumeIsolated { store in
                if store.checkpoints.isIdle(since: generation) {
                    store.checkpointBeside()
                } else {
                    store.planCheckpoint()
                }
            }
        }
    }

    private func checkpointBeside() {
        guard let maintenance, checkpoints.begin() else { return }
        maintenance.checkpoint { [weak self] result in
            guard let self else { return }
            executor.queue.async {
                self.assumeIsolated { $0.checkpointed(result) }
            }
        }
    }

    private func checkpointed(_ result: SQLiteConnection.CheckpointResult?) {
        checkpoints.ended(result)
        shared.withLock { $0.statistics.checkpoints += 1 }
    }

    /// Deletes what is too old in slices, each its own operation behind those that wait.
    nonisolated func prune() {
        commit(
            cost: 0,
            { [configuration] transaction in
                try Retention.prune(&transaction, configuration)
            }
        ) { [weak self] result, _ in
            guard let self else { return }
            // Also where it failed: a disk that is full now takes it after the next events.
            assumeIsolated { $0.retention.pruned() }
            guard case .success(let outcome) = result else { return }
            shared.withLock { $0.oldest = outcome.oldest }
            if outcome.isMore { prune() }
        }
    }
}
