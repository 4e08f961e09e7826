package import Basics

/// A run that keeps its session busy.
package struct BusyRun: Sendable {
    package let id: String
    package let session: SessionKey
    /// The run is a send of ours that another run will answer.
    package let isDeferred: Bool
    /// The gateway's process that worked on the run is gone. The next one may go on with it.
    package let isInterrupted: Bool
}
