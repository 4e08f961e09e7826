package import Basics
package import EventStream
package import SQLite

/// How a store is opened.
package struct StoreConfiguration: Sendable {
    package var directory: StateDirectory
    /// Schemas of other modules in the same file.
    package var modules: [Migration]
    package var clock: @Sendable () -> Timestamp
    /// A random name for a new event log.
    package var makeEpoch: @Sendable () -> EventEpoch
    /// Gets every committed event, in order, on the store's queue; those of one operation just before its completion.
    package var published: @Sendable ([StoredEvent]) -> Void
    package var keepEvents = 100_000
    package var keepEventsMs: Int64 = 7 * 86_400_000
    package var keepFinalEntries = 1_000
    package var keepFinalEntriesMs: Int64 = 86_400_000
    /// A registered SQLite VFS, for tests.
    package var fileSystem: String?

    package init(
        directory: StateDirectory,
        modules: [Migration] = [],
        clock: @escaping @Sendable () -> Timestamp,
        makeEpoch: @escaping @Sendable () -> EventEpoch,
        published: @escaping @Sendable ([StoredEvent]) -> Void = { _ in }
    ) {
        self.directory = directory
        self.modules = modules
        self.clock = clock
        self.makeEpoch = makeEpoch
        self.published = published
    }
}
