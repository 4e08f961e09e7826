package import Access
package import Outbound

/// The leader to follow, and who asks it.
package struct FollowSettings: Sendable {
    package var target: ServerTarget
    /// The leader's URL, for people.
    package var url: String
    /// A token of the leader with scope `admin`.
    package var token: Secret
    /// This host's name, as the leader's list shows it.
    package var host: String
    package var version: String

    package init(target: ServerTarget, url: String, token: Secret, host: String, version: String) {
        (self.target, self.url, self.token, self.host, self.version) = (target, url, token, host, version)
    }
}
