import CSystem

/// Limits and signal settings that a server sets once for its process at the start.
package enum ProcessLimits {
    /// Each connection needs a descriptor, so the soft limit of 1,024 is raised to the hard one. Returns the limit in
    /// force.
    @discardableResult
    package static func raiseDescriptors() -> Int64 { cs_raise_descriptor_limit() }

    /// The descriptors left for clients after those of the database, the gateway link and files read occasionally.
    package static var descriptorsForClients: Int {
        let all = Int(clamping: raiseDescriptors())
        return max(all - ownDescriptors, all / 4)
    }

    private static let ownDescriptors = 64

    /// The limit that leaves this many descriptors for clients.
    package static func descriptors(forClients count: Int) -> Int { count + ownDescriptors }

    /// Whether the process can have this much more address space (`ulimit -v`).
    package static func hasAddressSpace(_ bytes: Int) -> Bool { cs_has_address_space(bytes) == 1 }

    /// Prevents an image of this process's memory after a crash, because it holds secrets.
    package static func forbidCoreFiles() { _ = cs_forbid_core_files() }

    /// Makes a write to a closed peer fail with an error instead of ending the process by SIGPIPE.
    package static func ignoreBrokenPipes() { _ = cs_ignore_sigpipe() }

    /// Call this first. Otherwise the C library gives each thread its own heap, and free memory in one is of no use to
    /// the others: with thousands of readers 37 MB were resident instead of 25.
    package static func limitHeaps() { cs_limit_arenas(mostHeaps) }

    /// The event loops and the store seldom allocate at the same moment.
    private static let mostHeaps: Int32 = 2

    /// Call this after the start: a third of the resident pages of an idle process belong to code that only the start
    /// ran.
    package static func releaseStartUpPages() { cs_release_startup_pages() }

    /// Call this now and then, not on a loop: thousands of readers that fall behind together leave megabytes of small free
    /// blocks, which the C library never returns by itself.
    package static func releaseFreeMemory() { cs_release_free_memory(leastFreeMemory) }

    /// Smaller amounts are soon used again.
    private static let leastFreeMemory = 4 << 20
}
