import Basics
import Commands
import JSONBytes
import POSIX
import TestSupport
import Testing

@testable import ladle

/// The doctor's look at the state directory. No program is started here.
struct DoctorTests {
    private let scratch: ScratchDirectory

    init() throws {
        scratch = try ScratchDirectory()
    }

    /// The faults of a state directory, each with its command.
    private func faults(_ name: String) -> [[String]] {
        let path = scratch.file(name)
        return HostCheck.state(path, data: path, isServing: false).filter { !$0.isFine }.map {
            [
                $0.check, $0.detail.replacingText(scratch.path, with: "X"),
                ($0.hint ?? "").replacingText(scratch.path, with: "X"),
            ]
        }
    }

    @Test func `a database that serve cannot use is no tick`() throws {
        for name in ["random", "folder", "link"] { try scratch.makeDirectory(name, mode: 0o700) }
        try scratch.write([UInt8](repeating: 0xA7, count: 20_000), to: "random/ladle.db")
        try scratch.makeDirectory("folder/ladle.db", mode: 0o700)
        try scratch.makeLink("link/ladle.db", to: "/nowhere/ladle.db")
        let damaged = "X/random/ladle.db cannot be used: the database is damaged (file is not a database)"
        #expect(faults("random").map { $0.prefix(2) } == [["database", damaged]])
        #expect(
            faults("folder") == [
                [
                    "database", "X/folder/ladle.db is not a file, and the database needs its place",
                    "mv -i X/folder/ladle.db X/folder/ladle.db.old",
                ]
            ]
        )
        #expect(
            faults("link") == [
                [
                    "database", "X/link/ladle.db is a link to /nowhere/ladle.db, which does not exist",
                    "mount the disk of /nowhere/ladle.db; to begin anew: rm X/link/ladle.db",
                ]
            ]
        )
        #expect(try scratch.names(in: "random") == ["ladle.db"], "nothing was made")
    }

    @Test func `a state directory that is none has a remedy that helps`() throws {
        try scratch.write("x", to: "file")
        try scratch.makeLink("link", to: scratch.file("gone"))
        let elsewhere = "mv -i X/file X/file.old   (or elsewhere: ladle serve --state DIR)"
        #expect(faults("file") == [["state", "X/file is not a directory", elsewhere]])
        #expect(
            faults("file/state") == [
                ["state", "X/file/state cannot be made: X/file is not a directory", "ladle serve --state DIR"]
            ]
        )
        #expect(
            faults("link") == [["state", "X/link is a link to X/gone, which does not exist", "mkdir -m 700 X/gone"]]
        )
        #expect(faults("new/state") == [])
    }

    @Test func `a pause of the gateway is told with its reason, and passes by itself`() throws {
        let text =
            #"{"state":"paused","code":"GATEWAY_PAUSED","detail":"Connected, but the gateway is still starting.","#
            + #""hint":"messages wait","until":"2026-11-21T09:09:57.431Z","scopes":["operator.write"]}"#
        let link = try JSONDocument(parsing: Array(text.utf8), limits: .gateway).root
        let found = try #require(LinkCheck.findings(link).first { $0.check == "gateway" })
        #expect(!found.isFine && found.exit == .unavailable && found.hint == "messages wait")
        #expect(found.detail == "Connected, but the gateway is still starting. (GATEWAY_PAUSED)")
    }

    /// The conduct of such a gateway is only read, and decides about messages all the same.
    @Test(arguments: ["2026.6.11", "2026.9.7", "2026.10.2", "2027.1.1", "dev", ""])
    func `a gateway newer than any that was tried is named`(_ version: String) throws {
        let text = #"{"state":"online","gateway":{"version":"\#(version)"},"scopes":["operator.write"]}"#
        let link = try JSONDocument(parsing: Array(text.utf8), limits: .gateway).root
        let found = LinkCheck.findings(link).filter { $0.check == "release" }
        #expect(found.count == (["2026.6.11", "dev", ""].contains(version) ? 0 : 1))
        #expect(found.allSatisfy { $0.isFine && $0.detail.contains(version) && $0.detail.contains("2026.6.11") })
    }
}
