import CSystem

/// Limits and habits that a server sets for its process once at its start.
package enum ProcessLimits {
    /// One descriptor a connection: the soft limit of 1,024 is raised to the hard one. The result is the limit in force.
    @discardableResult
    package static func raiseDescriptors() -> Int64 { cs_raise_descriptor_limit() }

    /// Descriptors left for clients after those of the database, the gateway link and files read now and then.
    package static var descriptorsForClients: Int {
        let all = Int(clamping: raiseDescriptors())
        return max(all - ownDescriptors, all / 4)
    }

    private static let ownDescriptors = 64

    /// The limit that leaves so many descriptors for clients.
    package static func descriptors(forClients count: Int) -> Int { count + ownDescriptors }

    /// A process that holds secrets leaves no image of its memory after a crash.
    package static func forbidCoreFiles() { _ = cs_forbid_core_files() }

    /// A write to a peer that is gone fails with an error instead of ending the process by SIGPIPE.
    package static func ignoreBrokenPipes() { _ = cs_ignore_sigpipe() }

    /// Call it after the start: a third of the resident pages of an idle process belong to code that only starting ran.
    package static func releaseStartUpPages() { cs_release_startup_pages() }
}
