package import Basics
package import EventStream
import SQLite

/// The options for opening a store.
package struct StoreConfiguration: Sendable {
    package var directory: StateDirectory
    package var clock: @Sendable () -> Timestamp
    /// A random name for a new event log.
    package var makeEpoch: @Sendable () -> EventEpoch
    package var keepEvents = 100_000
    package var keepEventsMs: Int64 = 7 * 86_400_000
    /// Notifications are kept as long as events, and at most so many.
    var keepNotifications = 10_000
    var keepFinalEntries = 1_000
    var keepFinalEntriesMs: Int64 = 86_400_000
    /// Off in tests that need an unchanged log.
    package var checkpointsWhenIdle = true
    /// A registered SQLite VFS, for tests.
    package var fileSystem: String?

    package init(
        directory: StateDirectory,
        clock: @escaping @Sendable () -> Timestamp,
        makeEpoch: @escaping @Sendable () -> EventEpoch
    ) {
        self.directory = directory
        self.clock = clock
        self.makeEpoch = makeEpoch
    }
}
