package import Basics

/// Whether the store reads and writes.
package enum StoreHealth: Sendable, Equatable {
    case ok
    /// The file can be read but not written.
    case readOnly(reason: String)
    /// The former file was set aside unread; the outbox stays closed until `recover`.
    case quarantined(path: String, reason: String)

    /// Why no send may be accepted; nil when it may.
    package var refusal: String? {
        switch self {
        case .ok: nil
        case .readOnly(let reason): reason
        case .quarantined(let path, let reason): "\(reason); the former file is in \(path)"
        }
    }
}

/// The result of opening the store.
package enum StoreOpening: Sendable, Equatable {
    /// There was no file.
    case created
    case opened
    /// There was one and it could not be used; a new one is in its place.
    case setAside(path: String, reason: String)
    case readOnly(reason: String)
}

/// For status and metrics; a snapshot.
package struct StoreStatistics: Sendable, Equatable {
    package var commits: Int64 = 0
    package var operations: Int64 = 0
    var largestBatch = 0
    package var logPages = 0
    package var checkpoints: Int64 = 0
    package var failures: Int64 = 0
    /// The last commit failed with this; nil again after one that worked.
    package var failing: StoreError?
}
