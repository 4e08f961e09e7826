package import Notifications

/// The owner's configuration of notifications.
package struct NotificationSettings: Sendable {
    /// Sinks of the configuration file. They cannot be changed through the API.
    package var sinks: [NotificationSink] = []
    /// Where sinks may lead: to public hosts, and to hosts inside the network that the owner allows. Without it nothing is sent.
    package var addresses = try? AddressPolicy()
    /// The address under which the owner's devices reach Ladle, without a slash at its end.
    package var publicURL: String?
    /// Buttons decide approvals.
    package var hasApprovalLinks = false
    /// The name of this host's time zone.
    package var timeZone = "UTC"
    /// `PATH` and `HOME` of this process, for programs.
    package var environment: [String] = []

    package init() {}
}
