import Access
import Basics
import EventLoops
import EventStream
import Follow
import HTTPModel
import JSONBytes
import Server
import Service

/// `GET /v1/follow`, the beat of a follower, and `GET /v1/cluster`, who leads and who follows.
enum FollowOperations {
    static let routes = [
        Route("getCluster", .get, "/v1/cluster", scope: .read, handler: cluster),
        Route(
            "beat",
            .get,
            "/v1/follow",
            scope: .admin,
            query: ["host", "last", "streams", "tokens", "version"],
            handler: beat
        ),
    ]

    static func beat(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        // Two hosts that follow each other would hand a request on for ever.
        guard api.follower == nil else {
            throw Problem(.notFound, "This host leads nobody: it follows another one itself.")
        }
        guard let host = call.text("host"), FollowSettings.isName(host) else {
            throw .badParameter("host", "`host` is the follower's name: up to 64 visible ASCII characters.")
        }
        let version = call.text("version") ?? ""
        guard version.utf8.count <= 32, version.utf8.allSatisfy(isOfVersion) else {
            throw .badParameter("version", "`version` is the follower's, such as \(api.settings.version).")
        }
        let known = call.text("tokens") ?? ""
        guard known.utf8.count <= 64, known.utf8.allSatisfy({ $0 == 0x2D || ($0 &- 0x30) < 10 }) else {
            throw .badParameter("tokens", "`tokens` is the revision in the answer before.")
        }
        var last: EventID?
        if let text = call.text("last") {
            do throws(EventIDError) {
                last = try EventID(parsing: text)
            } catch {
                throw .badParameter("last", "\(error.text) It stands in the `id` of an event.")
            }
        }
        let follower = KnownFollower(
            host: host,
            version: version,
            address: "\(call.exchange.connection.remote)",
            ip: call.exchange.connection.remote.ip,
            last: last,
            streams: try call.number("streams", in: 0...1_000_000, default: 0),
            seenAt: loop.now
        )
        api.followers.note(follower)
        let revision = "\(api.startedAt.milliseconds)-\(api.access.authenticator.tokens.revision)"
        let status = api.services.gateway.status
        var (link, limitedLink) = (JSONWriter(), JSONWriter())
        link.value(status)
        limitedLink.value(status.limited)
        let beat = Beat(
            host: api.settings.hostName,
            version: api.settings.version,
            startedAt: api.startedAt,
            last: api.hub.last,
            messageBytes: api.services.messageBodyLimit,
            defaults: api.runs.defaults,
            link: link.bytes,
            limitedLink: limitedLink.bytes,
            revision: revision,
            tokens: known == revision ? nil : api.access.authenticator.tokens.records
        )
        call.respond(Response.json { $0.value(beat) }.unkept, on: loop)
    }

    private static func isOfVersion(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
        default: false
        }
    }

    static func cluster(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        // Names and addresses of hosts are not for callers that are limited to sessions.
        let isWhole = call.caller.sessions == nil
        let response = Response.object { object in
            object.member("host", api.settings.hostName)
            object.member("version", api.settings.version)
            object.member("role", api.follower == nil ? "leader" : "follower")
            object.member("startedAt", api.startedAt)
            object.member("streams", api.hub.count)
            object.member("last", api.hub.last.text)
            if let follower = api.follower {
                follower.writeState(to: &object, isWhole: isWhole, on: loop)
            } else if isWhole {
                object.array("followers", of: api.followers.list(now: loop.now, last: api.hub.last))
            }
        }
        call.respond(response.adding(.cacheControl, "no-store"), on: loop)
    }
}

extension Follower {
    func writeState(to object: inout JSONWriter, isWhole: Bool, on loop: isolated EventLoop) {
        object.member("state", service.standing(now: loop.now).rawValue)
        object.member("since", service.since)
        object.member("silentMs", service.silentMs(now: loop.now))
        object.member("behind", service.leader.flatMap { $0.last.distance(from: service.recent?.last) })
        guard isWhole else { return }
        object.object("leader") { inner in
            inner.member("url", service.settings.url)
            inner.member("host", service.leader?.host)
            inner.member("version", service.leader?.version)
            inner.member("startedAt", service.leader?.startedAt)
        }
        object.member("problem", service.fault?.reason)
        object.member("hint", service.fault?.hint)
    }
}

/// One follower, as its last beat described it.
struct KnownFollower {
    let host: String
    let version: String
    let address: String
    /// The address without its port: two followers may have one name by mistake.
    let ip: String
    let last: EventID?
    let streams: Int
    /// In monotonic nanoseconds.
    let seenAt: UInt64
}

/// The followers that have asked within an hour.
final class KnownFollowers {
    private static let most = 64
    private static let keptNs: UInt64 = 3_600_000_000_000

    private var hosts: [String: KnownFollower] = [:]

    func note(_ follower: KnownFollower) {
        hosts["\(follower.host) \(follower.ip)"] = follower
        guard hosts.count > Self.most else { return }
        if let oldest = hosts.values.min(by: { $0.seenAt < $1.seenAt }) { hosts["\(oldest.host) \(oldest.ip)"] = nil }
    }

    func list(now: UInt64, last: EventID) -> [FollowerReport] {
        hosts.values.filter { now - $0.seenAt < Self.keptNs }
            .sorted { $0.host < $1.host }.map { follower in
                FollowerReport(
                    follower: follower,
                    behind: last.distance(from: follower.last),
                    silentMs: Int64((now - follower.seenAt) / 1_000_000)
                )
            }
    }
}

/// A follower in the leader's list.
struct FollowerReport: JSONWritable {
    let follower: KnownFollower
    let behind: Int64?
    /// Milliseconds since its last beat.
    let silentMs: Int64

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("host", follower.host)
            object.member("version", follower.version)
            object.member("address", follower.address)
            object.member("streams", follower.streams)
            object.member("behind", behind)
            object.member("silentMs", silentMs)
        }
    }
}

extension SocketAddress {
    fileprivate var ip: String {
        if case .ip(let address, port: _) = self { "\(address)" } else { "" }
    }
}

extension EventID {
    /// How many events a host with `other` as its last one does not have yet; nil if it has another log, or none.
    fileprivate func distance(from other: EventID?) -> Int64? {
        guard let other, other.epoch == epoch else { return nil }
        return max(sequence - other.sequence, 0)
    }
}
