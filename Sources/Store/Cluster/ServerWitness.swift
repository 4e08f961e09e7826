import Basics
import Synchronization

/// The progress of a database on a server, as a host saw it. Each commit raises the batch, so a server that has a lower one in the same
/// log lacks commits that were confirmed.
struct ServerWitness: WitnessRecord {
    static let fileName = "server.witness"
    static let version = "ladle-server-witness-1"

    /// The epoch of the event log, and the number of the tables, which are made anew where a state is moved to a server once more.
    let log: String
    /// The number of the last commit.
    let batch: Int64

    init(log: String, batch: Int64) { (self.log, self.batch) = (log, batch) }

    var words: [String] { [log, "\(batch)"] }

    init?(words: [String]) {
        guard words.count == 2, let batch = Int64(words[1]) else { return nil }
        self.init(log: words[0], batch: batch)
    }

    /// The commits that a database in this state lacks. Numbers of another log cannot be compared.
    func missing(in found: ServerWitness) -> Int64 { log == found.log ? max(0, batch - found.batch) : 0 }
}

/// The newest commit that this host knows of: the leader's own, or one that a waiting host found in the tables. Kept in `server.witness`, so
/// that a restart does not forget it. It is written without a sync: a host that lost its machine counts as one that does not answer.
package final class SeenCommits: Sendable {
    private struct State {
        var newest: ServerWitness?
        var file: WitnessFile<ServerWitness>?
    }

    private let directory: String
    private let state: Mutex<State>

    package init(in directory: String) {
        self.directory = directory
        state = Mutex(State(newest: WitnessFile<ServerWitness>.read(in: directory)))
    }

    var newest: ServerWitness? { state.withLock { $0.newest } }

    /// A database that lacks commits does not change it.
    func saw(_ witness: ServerWitness) {
        state.withLock { state in
            guard state.newest != witness, state.newest?.missing(in: witness) ?? 0 == 0 else { return }
            state.newest = witness
            // If the disk fails, the record before remains, which is still true.
            if let file = state.file {
                _ = file.record(witness)
            } else {
                state.file = try? WitnessFile(in: directory, witness)
            }
        }
    }
}
