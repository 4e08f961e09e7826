import API
import Access
import Basics
import Follow
import JSONBytes
import TestSupport
import Testing

/// The leader's side of hosts that follow it.
struct FollowRouteTests {
    @Test func `a beat brings the tokens once, and each change of them`() async throws {
        try await withAPI { api, loop in
            let (id, token, _) = try await api.token("read", on: loop)
            let first = try await api.get("/v1/follow?host=cellar&streams=3", on: loop)
            let beat = try #require(Beat(parsing: Array(first.body.utf8)))
            #expect(beat.tokens?.map(\.id) == [id] && beat.tokens?.first?.scopes == [.read])
            #expect(!first.body.contains(token) && first.field("Cache-Control") == "no-store")
            let again = try await api.get("/v1/follow?host=cellar&tokens=\(beat.revision)", on: loop)
            let second = try #require(Beat(parsing: Array(again.body.utf8)))
            #expect(second.tokens == nil)
            try await api.request("DELETE", "/v1/tokens/\(id)", on: loop)
            let later = try await api.get("/v1/follow?host=cellar&tokens=\(beat.revision)", on: loop)
            let third = try #require(Beat(parsing: Array(later.body.utf8)))
            #expect(third.tokens == [])
        }
    }

    @Test func `only scope admin may follow, and a follower has a name that can be shown`() async throws {
        try await withAPI { api, loop in
            let (_, _, bearer) = try await api.token("read", on: loop)
            #expect(try await api.get("/v1/follow?host=cellar", bearer, on: loop).status == 403)
            #expect(try await api.get("/v1/follow?host=cellar", Field.forwarded, on: loop).status == 401)
            for bad in [
                "/v1/follow", "/v1/follow?host=", "/v1/follow?host=a%0ab", "/v1/follow?host=a&last=x",
                "/v1/follow?host=a&tokens=x", "/v1/follow?host=a&version=1%1b",
            ] {
                #expect(try await api.get(bad, on: loop)["code"] == "BAD_PARAMETER", "\(bad)")
            }
        }
    }

    @Test func `the leader lists who followed it within an hour, for callers of all sessions`() async throws {
        try await withAPI { api, loop in
            try await api.get("/v1/follow?host=cellar&version=0.1.0&streams=3&last=x.1", on: loop)
            let list = try await api.get("/v1/cluster", on: loop)
            #expect(
                list["role"] == "leader" && list.body.contains(#""host":"cellar""#)
                    && list.body.contains(#""streams":3"#)
            )
            let (_, _, bearer) = try await api.token("read", more: #","sessions":["agent:main:main"]"#, on: loop)
            let limited = try await api.get("/v1/cluster", bearer, on: loop)
            #expect(limited.status == 200 && !limited.body.contains("cellar"))
            try await api.advance(3_600_001, on: loop)
            #expect(try await !api.get("/v1/cluster", on: loop).body.contains("cellar"))
        }
    }

    @Test func `the present state can be read at once, by long poll`() async throws {
        try await withAPI { api, loop in
            let answer = try await api.get("/v1/events?poll=25&snapshot=1", on: loop)
            #expect(answer.status == 200 && answer.body.contains(#""type":"summary""#) && answer["cursor"] != nil)
            let cursor = try #require(answer["cursor"])
            let behind = try await api.get("/v1/events?poll=25&snapshot=1&since=\(cursor)", on: loop)
            #expect(behind.status == 200 && behind.body.contains(#""type":"summary""#))
            let (_, _, bearer) = try await api.token("read", more: #","sessions":["agent:main:other"]"#, on: loop)
            #expect(try await api.get("/v1/events?poll=0&snapshot=1", bearer, on: loop).body.contains(#""active":0"#))
        }
    }

    @Test func `a follower has every operation, and answers few of them itself`() {
        let own = Set([
            "getAsyncAPI", "getHealth", "getMetrics", "getOpenAPIAsJSON", "getOpenAPIAsYAML", "getReadiness",
            "streamEvents",
        ])
        #expect(RouteTable.ofFollower.map(\.operation) == RouteTable.routes.map(\.operation))
        for (follower, leader) in zip(RouteTable.ofFollower, RouteTable.routes) {
            #expect(follower.path == leader.path && follower.scope == leader.scope && follower.body == leader.body)
            if own.contains(leader.operation) { #expect(follower === leader, "\(leader.operation)") }
        }
        #expect(zip(RouteTable.ofFollower, RouteTable.routes).count { $0 === $1 } == own.count + 3)
    }
}
