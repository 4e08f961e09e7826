import CSystem

/// What a program that lives on loops sets once at its start.
package enum ProcessLimits {
    /// One descriptor a connection: the soft limit of 1,024 is raised to the hard one. The result is the limit in force.
    @discardableResult
    package static func raiseDescriptors() -> Int64 { cs_raise_descriptor_limit() }

    /// How many of them may be clients': the rest is the database's, the link's, and of what is read now and then.
    package static var descriptorsForClients: Int {
        let all = Int(clamping: raiseDescriptors())
        return max(all - ownDescriptors, all / 4)
    }

    private static let ownDescriptors = 64

    /// The limit with which so many may be clients'.
    package static func descriptors(forClients count: Int) -> Int { count + ownDescriptors }

    /// A process that holds secrets leaves no picture of its memory, whatever happens to it.
    package static func forbidCoreFiles() { _ = cs_forbid_core_files() }

    /// A peer that is gone shows as an error of the write, not as a signal.
    package static func ignoreBrokenPipes() { _ = cs_ignore_sigpipe() }

    /// Once the start is over: a third of the resident pages of a process that then idles belong to code it will not run
    /// again.
    package static func releaseStartUpPages() { cs_release_startup_pages() }
}
