import Basics
import Testing

@testable import Commands

struct ClusterCommandTests {
    private func io(leads: Bool = true, _ hosts: [DatabaseHosts.Host]) -> RecordedIO {
        let io = RecordedIO()
        let since = Timestamp(milliseconds: io.nowMilliseconds - 60_000)
        let leader = DatabaseHosts.Leader(name: "attic", term: 4, since: since, takeoverMs: 6_000)
        io.services.hosts = { _ in DatabaseHosts(leader: leads ? leader : nil, hosts: hosts) }
        return io
    }

    private func host(_ name: String, silentMs: Int64 = 1_200, leads: Bool = false) -> DatabaseHosts.Host {
        DatabaseHosts.Host(name: name, version: "1.2.3", silentMs: silentMs, leads: leads, isFresh: silentMs < 15_000)
    }

    @Test func `the hosts on a database: who leads, who waits, who is away`() {
        let io = io([host("attic", leads: true), host("cellar"), host("barn", silentMs: 7_200_000)])
        #expect(io.run("cluster", "status", "--database", "postgresql://db/x") == .ok)
        let lines = io.output.split(separator: "\n")
        #expect(lines[0].hasPrefix("attic leads since ") && lines[0].hasSuffix(", in term 4"))
        #expect(lines[2].hasPrefix("attic   leads  1 s ago") && lines[3].hasPrefix("cellar  waits  1 s ago"))
        #expect(lines[4].hasPrefix("barn    away   2 h ago"))
        #expect(io.errors == "→ another host leads in its place after: ladle cluster resign\n")
        #expect(io.requests.isEmpty)
    }

    @Test func `a leader without a recent beat is called silent`() {
        let silent = io([host("attic", silentMs: 90_000, leads: true), host("cellar")])
        #expect(silent.run("cluster", "status") == .unavailable)
        let lines = silent.output.split(separator: "\n")
        #expect(
            lines[0].hasSuffix(", in term 4, and is silent") && lines[2].hasPrefix("attic   silent  1 m"),
            "\(lines)"
        )
    }

    @Test func `for each state the command that comes next`() {
        let (leads, waits) = (host("attic", leads: true), host("cellar"))
        let silent = host("attic", silentMs: 90_000, leads: true)
        let cases: [(RecordedIO, ExitCode, String)] = [
            (io([leads]), .ok, "no other host waits; on another machine: ladle serve --database URL"),
            (io([silent, waits]), .unavailable, "another host takes over after 6 s: ladle cluster status"),
            (io([silent]), .unavailable, "no host waits; start one: ladle serve --database URL"),
            (io(leads: false, [waits]), .unavailable, "a host that waits takes over at once: ladle cluster status"),
            (io(leads: false, []), .unavailable, "start one: ladle serve --database URL"),
        ]
        for (io, code, next) in cases {
            #expect(io.run("cluster", "status") == code)
            #expect(io.errors == "→ \(next)\n")
        }
    }

    @Test func `the same for programs`() {
        let io = io([host("attic", leads: true), host("cellar")])
        #expect(io.run("cluster", "status", "--json") == .ok)
        #expect(io.output.hasPrefix(#"{"leader":{"host":"attic","term":4,"since":""#), "\(io.output)")
        #expect(io.output.contains(#"{"host":"cellar","role":"waits","silentMs":1200,"version":"1.2.3"}"#))
    }

    @Test func `a leader steps down where another host waits, and nowhere else`() {
        let leads = host("attic", leads: true)
        for (hosts, isLed, code) in [
            ([leads], true, "NOBODY_WAITS"), ([leads, host("cellar", silentMs: 90_000)], true, "NOBODY_WAITS"),
            ([host("attic", silentMs: 90_000, leads: true), host("cellar")], true, "NO_LEADER"),
            ([host("cellar")], false, "NO_LEADER"),
        ] {
            let io = io(leads: isLed, hosts)
            io.services.askToResign = { _, _ in Issue.record("nobody is asked") }
            #expect(io.run("cluster", "resign", "--json") == .unavailable)
            #expect(io.output.contains(code), "\(io.output)")
        }
        let io = io([leads, host("cellar")])
        var asked: [Int64] = []
        io.services.askToResign = { _, leader in asked.append(leader.term) }
        #expect(io.run("cluster", "resign") == .ok && asked == [4])
        #expect(io.output == "attic steps down. Then: ladle cluster status\n")
        let alone = RecordedIO()
        #expect(alone.run("cluster", "resign") == .usage)
    }
}
