package import Notifications

/// The owner's configuration of notifications.
package struct NotificationSettings: Sendable {
    /// Sinks of the configuration file. They cannot be changed through the API.
    package var sinks: [NotificationSink] = []
    /// Hosts inside the network that sinks of the API may lead to.
    package var allowed: AddressPolicy?
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
