package import Notifications

/// The owner's configuration of notifications.
package struct NotificationSettings: Sendable {
    /// Sinks from the configuration file. The API cannot change them.
    package var sinks: [NotificationSink] = []
    /// The addresses that sinks may use: public hosts, and internal hosts that the owner allows. Nothing is sent
    /// without it.
    package var addresses = try? AddressPolicy()
    /// The URL at which the owner's devices reach Ladle, without a trailing slash.
    package var publicURL: String?
    /// Whether notifications carry buttons that decide approvals.
    package var hasApprovalLinks = false
    /// The name of this host's time zone.
    package var timeZone = "UTC"
    /// `PATH` and `HOME` of this process, for sink programs.
    package var environment: [String] = []

    package init() {}

    /// The addresses that sinks may use now.
    func addresses(beside gateway: any GatewayCalls) -> AddressPolicy? {
        gateway.port.map { addresses?.refusing(gateway: $0) } ?? addresses
    }
}
