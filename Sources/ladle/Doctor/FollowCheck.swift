import Basics
import Commands
import JSONBytes

/// Checks a host that follows another Ladle. What the leader knows, its own doctor says.
enum FollowCheck {
    /// - Parameter cluster: the answer of `GET /v1/cluster`.
    static func findings(_ cluster: JSONValue) -> [Finding] {
        let daemon = Finding.fine("daemon", "ladle \(Printable.line(cluster["version"]?.string ?? "")) is serving")
        let leader = cluster["leader"]
        let url = Printable.line(leader?["url"]?.string ?? "")
        if let problem = cluster["problem"]?.string.map(Printable.line) {
            let hint = cluster["hint"]?.string.map(Printable.line)
            return [daemon, .wrong("leader", "\(url) is not followed: \(problem)", hint)]
        }
        let version = leader?["version"]?.string ?? ""
        var findings = [daemon]
        if cluster["state"]?.string == "live" {
            let behind = cluster["behind"]?.int ?? 0
            let distance = behind == 0 ? "nothing is missing" : "\(behind) events behind"
            findings.append(.fine("leader", "\(url) is followed, \(distance)"))
        } else {
            findings.append(
                .wrong("leader", "\(url) answers, but its events do not come", "at the leader: ladle doctor")
            )
        }
        if version != Version.text {
            findings.append(
                .fine(
                    "version",
                    "the leader is ladle \(Printable.line(version)), this one \(Version.text): upgrade followers first"
                )
            )
        }
        return findings
    }
}
