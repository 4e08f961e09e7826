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

    /// A name goes into lists, logs and terminals of other hosts.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    package init(target: ServerTarget, url: String, token: Secret, host: String, version: String) {
        (self.target, self.url, self.token, self.host, self.version) = (target, url, token, host, version)
    }
}
