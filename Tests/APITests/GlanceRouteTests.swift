import Access
import DemoGateway
import JSONBytes
import TestSupport
import Testing

@testable import API

/// `GET /v1/glance`: its forms, its versions, and requests that wait.
struct GlanceRouteTests {
    private static let text = ["Accept: text/plain"]
    private static let paced = APIBench.Setup(demo: { $0.speed = 1 })

    @Test func `it comes as an object, a line and for a status bar`() async throws {
        try await withAPI(.demo) { api, loop in
            let glance = try await api.get("/v1/glance", on: loop)
            #expect(glance.status == 200, "\(glance)")
            #expect(glance.json["state"]?.string == "idle")
            #expect(glance.field("ETag") == "\"\(try #require(glance["rev"]))\"")
            #expect(glance.field("Cache-Control") == "private, max-age=10, stale-while-revalidate=60")
            #expect(glance.field("Vary") == "Accept")
            #expect(try await api.get("/v1/glance", Self.text, on: loop).body.hasPrefix("○ idle"))
            let bar = try await api.get("/v1/glance?format=waybar", Self.text, on: loop)
            #expect(bar["class"] == "idle" && bar["text"]?.hasPrefix("○ idle") == true)
            let few = try await api.get("/v1/glance?fields=state,active", on: loop)
            #expect(few.body == "{\"state\":\"idle\",\"active\":0}\n")
            #expect(try await api.get("/v1/glance?private=true", on: loop).json["headline"] == nil)
            for (query, field) in [
                ("fields=", "fields"), ("fields=stat", "fields"), ("fields=state,,active", "fields"),
                ("format=xbar", "format"),
                ("wait=301", "wait"), ("wait=x", "wait"), ("private=maybe", "private"), ("field=state", "field"),
            ] {
                let wrong = try await api.get("/v1/glance?\(query)", on: loop)
                #expect(wrong.status == 400 && wrong["field"] == field, "\(query): \(wrong)")
            }
        }
    }

    @Test func `a known version is not sent again`() async throws {
        try await withAPI(.demo) { api, loop in
            _ = try await api.get("/v1/glance", on: loop)
            try await api.advance(2_000, on: loop)
            for query in ["", "?fields=state", "?format=waybar", "?private=true"] {
                let glance = try await api.get("/v1/glance\(query)", on: loop)
                let tag = try #require(glance.field("ETag"))
                let same = try await api.get("/v1/glance\(query)", ["If-None-Match: \(tag)"], on: loop)
                #expect(same.status == 304 && same.body.isEmpty && same.field("ETag") == tag)
                #expect(same.field("Cache-Control") == "private, max-age=10, stale-while-revalidate=60")
                let rev = tag.dropFirst().dropLast()
                let mark = query.isEmpty ? "?" : "&"
                #expect(try await api.get("/v1/glance\(query)\(mark)rev=\(rev)", on: loop).status == 304)
                #expect(try await api.get("/v1/glance\(query)\(mark)rev=0", on: loop).status == 200)
                #expect(try await api.get("/v1/glance\(query)\(mark)wait=5&rev=0", on: loop).status == 200)
                #expect(try await api.get("/v1/glance\(query)\(mark)wait=5", on: loop).status == 200)
            }
        }
    }

    @Test func `a request waits for the next change that it shows, or for its time`() async throws {
        try await withAPI(Self.paced) { api, loop in
            _ = try await api.get("/v1/glance", on: loop)
            try await api.advance(2_000, on: loop)
            let rev = try #require(try await api.get("/v1/glance", on: loop)["rev"])
            let link = try await api.get("/v1/glance?fields=link,rev", on: loop)["rev"] ?? ""
            let wait = try await api.open("GET", "/v1/glance?wait=30&rev=\(rev)", on: loop)
            let other = try await api.open(
                "GET",
                "/v1/glance?wait=2&fields=link,rev",
                ["If-None-Match: \"\(link)\""],
                on: loop
            )
            #expect(!wait.hasEnded && !other.hasEnded)
            try await api.advance(1_000, on: loop)
            #expect(!wait.hasEnded)
            _ = try await api.say("slow count", on: loop)
            try await api.advance(600, on: loop)
            #expect(wait.hasEnded && wait.answer?.status == 200, "\(wait.text)")
            #expect(wait.answer?.field("Cache-Control") == "no-store")
            #expect(!other.hasEnded)
            try await api.advance(1_000, on: loop)
            #expect(other.answer?.status == 304 && other.hasEnded)
        }
    }

    @Test func `a wait ends with its client, its token or the shutdown`() async throws {
        try await withAPI(.init(streams: .init(perCaller: 2, total: 2), demo: { _ in })) { api, loop in
            _ = try await api.get("/v1/glance", on: loop)
            try await api.advance(2_000, on: loop)
            let rev = try #require(try await api.get("/v1/glance", on: loop)["rev"])
            let path = "/v1/glance?wait=30&fields=link,rev&rev="
            let seen = try #require(try await api.get("/v1/glance?fields=link,rev", on: loop)["rev"])
            let (id, _, bearer) = try await api.token("read", on: loop)
            let first = try await api.open("GET", path + seen, on: loop)
            let second = try await api.open("GET", path + seen, bearer, on: loop)
            #expect(!first.hasEnded && !second.hasEnded)
            #expect(try await api.get("/v1/glance?wait=30&rev=\(rev)", bearer, on: loop)["code"] == "TOO_MANY_STREAMS")
            first.leave(on: loop)
            #expect(try await api.request("DELETE", "/v1/tokens/\(id)", on: loop).status == 204)
            #expect(second.hasEnded)
            let last = try await api.open("GET", path + seen, on: loop)
            api.api.endOpenRequests(on: loop)
            #expect(last.answer?.status == 304)
            #expect(try await api.get(path + seen, on: loop).status == 304)
        }
    }

    @Test func `a token of one path and of one session sees what it may`() async throws {
        try await withAPI(Self.paced) { api, loop in
            let more = #","paths":["/v1/glance"],"sessions":["agent:main:den"]"#
            let bearer = try await api.token("read", more: more, on: loop).bearer
            _ = try await api.say("slow count", on: loop)
            try await api.advance(2_000, on: loop)
            #expect(try await api.get("/v1/glance", on: loop).json["active"]?.int == 1)
            let own = try await api.get("/v1/glance", bearer, on: loop)
            #expect(own.json["active"]?.int == 0 && own.json["usage"] == nil && own.json["today"] == nil, "\(own)")
            #expect(try await api.get("/v1/glance?wait=0", bearer, on: loop).status == 200)
            #expect(try await api.get("/v1/activity", bearer, on: loop)["code"] == "PATH_NOT_ALLOWED")
        }
    }
}
