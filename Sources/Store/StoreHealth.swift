package import Basics
import POSIX

/// Whether the store can read and write.
package enum StoreHealth: Sendable, Equatable {
    case ok
    /// The file can be read but not written.
    case readOnly(reason: String)
    /// The file was deleted or replaced while it is open. Nothing is written until it is back in its place.
    case misplaced(reason: String)
    /// The server of the database does not answer. Nothing is written until it does.
    case unreachable(reason: String)
    /// The previous file was set aside unread; the outbox stays closed until `recover`.
    case quarantined(path: String, reason: String)

    /// The reason why sends are refused; nil if they are accepted.
    package var refusal: StoreError? {
        switch self {
        case .ok: nil
        case .readOnly(let reason), .misplaced(let reason), .unreachable(let reason): .unavailable(reason)
        case .quarantined(let path, let reason):
            .outboxClosed("\(reason); the former file is in \(path)", directory: FileSystem.folder(of: path))
        }
    }
}

/// The result of opening the store.
package enum StoreOpening: Sendable, Equatable {
    /// There was no file.
    case created
    case opened
    /// The existing file could not be used, and a new one was created.
    case setAside(path: String, reason: String)
    case readOnly(reason: String)
    /// A server that lacks commits which had been confirmed, so the event log begins anew.
    case lost(reason: String)
}

/// A snapshot for status and metrics.
package struct StoreStatistics: Sendable, Equatable {
    package var commits: Int64 = 0
    package var operations: Int64 = 0
    var largestBatch = 0
    package var logPages = 0
    package var checkpoints: Int64 = 0
    package var failures: Int64 = 0
    /// The error of the last commit; nil after a successful one.
    package var failing: StoreError?
    /// Sessions with a server after the first, and commits whose answer was lost.
    package var reconnects: Int64 = 0
    package var doubts: Int64 = 0
    /// 1 if the log began anew with this process, because the server lacked commits.
    package var losses: Int64 = 0

    mutating func committed(_ count: Int) {
        commits += 1
        operations += Int64(count)
        largestBatch = max(largestBatch, count)
        failing = nil
    }
}
