package import Basics

/// The hosts on one database, as its rows tell of them.
package struct DatabaseHosts: Sendable {
    package struct Leader: Sendable {
        package let name: String
        package let term: Int64
        package let since: Timestamp
        /// The time after which another host takes over, if it is silent.
        package let takeoverMs: Int64

        package init(name: String, term: Int64, since: Timestamp, takeoverMs: Int64) {
            self.name = name
            self.term = term
            self.since = since
            self.takeoverMs = takeoverMs
        }
    }

    package struct Host: Sendable {
        package let name: String
        package let version: String
        package let silentMs: Int64
        package let leads: Bool
        package let isFresh: Bool

        /// The part of the host, as its row shows it. A leader without a recent beat may be lost.
        var role: String {
            switch (leads, isFresh) {
            case (true, true): "leads"
            case (true, false): "silent"
            case (false, true): "waits"
            case (false, false): "away"
            }
        }

        package init(name: String, version: String, silentMs: Int64, leads: Bool, isFresh: Bool) {
            self.name = name
            self.version = version
            self.silentMs = silentMs
            self.leads = leads
            self.isFresh = isFresh
        }
    }

    package let leader: Leader?
    package let hosts: [Host]

    package init(leader: Leader?, hosts: [Host]) {
        self.leader = leader
        self.hosts = hosts
    }

    /// Whether a host is there that would take over.
    var hasWaiting: Bool { hosts.contains { !$0.leads && $0.isFresh } }
    var isLeaderSilent: Bool { hosts.contains { $0.leads && !$0.isFresh } }
}
