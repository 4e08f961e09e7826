import API
import Configuration
import EventLoops
import Server
import Service

/// How many connections there may be: as many as the settings say, or as the process has descriptors for.
extension ConnectionLimit {
    /// Of this process, whose limit is raised as far as it goes.
    init(_ settings: Settings) {
        self.init(
            configured: Int(settings.int(.limitsConnections)),
            possible: max(1, ProcessLimits.descriptorsForClients - HTTPServer.mostRefused)
        )
    }

    /// What to say where the system allows less than the settings; nil where it does not.
    var shortage: String? {
        guard inForce < configured else { return nil }
        return "at most \(inForce) connections, not the \(configured) of limits.connections: "
            + "the system lets the process open too few files"
    }

    var remedy: String {
        let files = ProcessLimits.descriptors(forClients: configured + HTTPServer.mostRefused)
        return "ulimit -n \(files)   (before ladle serve; of a service: LimitNOFILE=\(files) in its unit)"
    }
}
