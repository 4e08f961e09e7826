import DemoGateway
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service
import TestSupport
import Testing

@testable import API

struct ArtifactRouteTests {
    @Test(arguments: [DemoRelease.june, .october])
    func `the files of a session are listed and given for storing`(_ release: DemoRelease) async throws {
        try await withAPI(APIBench.Setup(demo: { $0.release = release })) { api, loop in
            #expect(try await api.say("hello", "?wait=20", on: loop).status == 200)
            let path = "/v1/sessions/main/artifacts"
            let list = try await api.get(path, on: loop)
            #expect(list.json["session"]?.string == "agent:main:main", "\(list)")
            let rows = list.json["artifacts"]?.elements.map { $0 } ?? []
            #expect(rows.map { $0["title"]?.string } == ["notes.md", "dot.png", "film.mp4"])
            #expect(rows.map { $0["downloadable"]?.bool } == [true, true, false])
            let ids = rows.compactMap { $0["id"]?.string }
            let notes = try await api.get("\(path)/\(ids[0])", on: loop)
            #expect(notes.status == 200 && notes.body.hasPrefix("# Notes\n"), "\(notes)")
            #expect(notes.field("content-type") == "text/plain; charset=utf-8")
            #expect(notes.field("content-disposition") == #"attachment; filename="notes.txt""#)
            let dot = try await api.get("\(path)/\(ids[1])", on: loop)
            #expect(dot.field("content-type") == "image/png")
            #expect(dot.field("content-disposition") == #"attachment; filename="dot.png""#)
            let tag = try #require(dot.field("etag"))
            #expect(try await api.get("\(path)/\(ids[1])", ["If-None-Match: \(tag)"], on: loop).status == 304)
            let film = try await api.get("\(path)/\(ids[2])", on: loop)
            #expect(film.status == 502 && film["code"] == "ARTIFACT_ELSEWHERE", "\(film)")
            #expect(!film.body.contains("example.org"))
            for id in ["nobody", String(ids[0].dropLast()), "..%2F\(ids[0])"] {
                #expect(try await api.get("\(path)/\(id)", on: loop)["code"] == "ARTIFACT_NOT_FOUND", "\(id)")
            }
            #expect(try await api.get(path, ["Accept: text/html"], on: loop).status == 406)

            let bound = try await api.token("read", more: #","sessions":["agent:main:other"]"#, on: loop).bearer
            for place in [path, "\(path)/\(ids[0])", "/v1/sessions/other/artifacts/\(ids[0])"] {
                #expect(try await api.get(place, bound, on: loop).status == 404, "\(place)")
            }
        }
    }

    @Test func `a gateway without artifacts says so, and one that is away too`() async throws {
        try await withAPI(APIBench.Setup(demo: { $0.release = .march })) { api, loop in
            let old = try await api.get("/v1/sessions/main/artifacts", on: loop)
            #expect(old.status == 501 && old["capability"] == "artifacts", "\(old)")
            try await api.demo?.drop(on: loop)
            #expect(try await api.get("/v1/sessions/main/artifacts", on: loop)["code"] == "GATEWAY_UNAVAILABLE")
        }
    }

    @Test func `hostile rows and bytes do no harm`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(methods: ["sessions.subscribe", "artifacts.list"], on: loop)
            let rows = #"""
                {"id":"a","type":"file","title":"../../etc/\"\r\nX-Evil: 1\u202E.exe","sizeBytes":3,"download":{"mode":"bytes"}},
                {"id":"b","type":"file","title":"/home/sam/big.bin","sizeBytes":99000000,"download":{"mode":"bytes"}},
                {"id":"c\u0000","type":"file","title":"c","download":{"mode":"bytes"}},{"title":"no id"},7,
                {"id":"d","type":"x","title":"","download":{"mode":"bytes"}}
                """#
            let list = ok(#"{"artifacts":[\#(rows)]}"#)
            api.gateway.responder = { $0.method == "artifacts.list" ? .now(list) : nil }
            let shown = try await api.get("/v1/sessions/main/artifacts", on: loop)
            #expect(shown.json["artifacts"]?.elements.map { $0["id"]?.string } == ["a", "b", "d"], "\(shown)")
            #expect(!shown.body.contains("/home/") && shown.body.contains(#"\\u{202E}"#))
            let big = try await api.get("/v1/sessions/main/artifacts/b", on: loop)
            #expect(big.status == 502 && big["code"] == "GATEWAY_ANSWER_TOO_LARGE")
            api.gateway.next("artifacts.download", ok(#"{"artifact":{},"encoding":"base64","data":"PGh0bWw+"}"#))
            let page = try await api.get("/v1/sessions/main/artifacts/a", on: loop)
            #expect(page.status == 200 && page.field("content-type") == "text/plain; charset=utf-8")
            #expect(page.field("content-disposition") == #"attachment; filename="u_202E.txt""#)
            #expect(page.field("x-evil") == nil)
            api.gateway.next("artifacts.download", ok(#"{"artifact":{},"data":"AAEC"}"#))
            let raw = try await api.get("/v1/sessions/main/artifacts/d", on: loop)
            #expect(raw.field("content-type") == "application/octet-stream")
            #expect(raw.field("content-disposition") == #"attachment; filename="d.bin""#)
            api.gateway.next("artifacts.download", ok(#"{"artifact":{},"data":"!"}"#))
            let broken = try await api.get("/v1/sessions/main/artifacts/d", on: loop)
            #expect(broken.status == 502 && broken["code"] == "GATEWAY_ANSWER_UNREADABLE")
        }
    }

    @Test(
        arguments: [
            ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"), ([0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"),
            (Array("GIF89a".utf8), "image/gif"), (Array("RIFF....WEBPVP8 ".utf8), "image/webp"),
            (Array("RIFF....WAVEfmt ".utf8), "audio/wav"), (Array("%PDF-1.7".utf8), "application/pdf"),
            (Array("....ftypisom....".utf8), "video/mp4"), (Array("....ftypM4A ....".utf8), "audio/mp4"),
            (Array("OggS".utf8) + [0], "audio/ogg"), (Array("fLaC".utf8) + [0], "audio/flac"),
            ([0xFF, 0xFB, 0x90, 0x64], "audio/mpeg"), ([0xFF, 0xF1, 0x50, 0x80], "audio/aac"),
            ([0xFF, 0xFF, 0xFF, 0xFF], ""), ([0x1A, 0x45, 0xDF, 0xA3], "audio/webm"),
            (Array("<script>".utf8), "text/plain"), ([0x3C, 0x00], ""), ([0xC3, 0x28], ""), ([], "text/plain"),
        ] as [([UInt8], String)]
    )
    func `a file has the type of its first bytes`(_ bytes: [UInt8], _ type: String) {
        #expect((FileContent.type(bytes)?.essence ?? "") == type)
    }

    @Test(arguments: [
        ("", "file"), ("..", "file"), ("a/b", "a_b"), ("CON\u{0}", "CON"), ("-rf", "rf"), ("a..b...c", "a._b._.c"),
        ("über \"x\"; y", "ber_x_y"), (String(repeating: "x", count: 500), String(repeating: "x", count: 96)),
    ])
    func `a name to store under names no path, field or option`(_ name: String, _ safe: String) {
        let answer = FileAnswer.response([], as: .pdf, name: name)
        #expect(answer.head.fields.string(for: .contentDisposition) == "inline; filename=\"\(safe).pdf\"")
    }
}
