import Basics
import JSONBytes
import POSIX
import TestSupport
import Testing

@testable import Access

struct SecretFileTests {
    @Test func `a private file is read and trimmed`() throws {
        let folder = try ScratchDirectory()
        try folder.write("  abc def\r\n\n", to: "t", mode: 0o600)
        #expect(try SecretFile.read(folder.file("t")).reveal() == "abc def")
        try folder.write("\n", to: "e", mode: 0o400)
        #expect(try SecretFile.read(folder.file("e")).reveal() == "")
    }

    /// The group bit alone is tolerated for root's own files, where it is the mask of an access list.
    @Test(arguments: [0o604, 0o620, 0o602, 0o666, 0o644, 0o601])
    func `a file others can reach is refused with the command that fixes it`(mode: Int) throws {
        let folder = try ScratchDirectory()
        try folder.write("x", to: "t", mode: mode)
        let path = folder.file("t")
        let fault = SecretFile.Fault.exposed(path: path, mode: UInt32(mode))
        #expect(throws: fault) { try SecretFile.read(path) }
        #expect(fault.hint == "chmod 600 \(path)")
    }

    @Test func `ownership is part of the check`() {
        func fault(
            uid: UInt32,
            gid: UInt32 = 5,
            mode: UInt32,
            reader: UInt32 = 1000,
            regular: Bool = true,
            size: UInt64 = 1
        ) -> SecretFile.Fault? {
            let kind: FileFacts.Kind = regular ? .regular : .other
            let facts = FileFacts(kind: kind, owner: uid, group: gid, mode: mode, size: size)
            return SecretFile.fault(of: facts, path: "p", reader: reader)
        }
        #expect(fault(uid: 1000, mode: 0o600) == nil)
        #expect(fault(uid: 1000, mode: 0o640) == .exposed(path: "p", mode: 0o640))
        #expect(fault(uid: 1001, mode: 0o600) == .foreignOwner(path: "p", uid: 1001))
        #expect(fault(uid: 0, gid: 0, mode: 0o440) == nil)
        #expect(fault(uid: 0, gid: 5, mode: 0o440) == .exposed(path: "p", mode: 0o440))
        #expect(fault(uid: 0, gid: 0, mode: 0o444) == .exposed(path: "p", mode: 0o444))
        #expect(fault(uid: 1000, mode: 0o600, regular: false) == .notAFile(path: "p"))
        #expect(fault(uid: 1000, mode: 0o600, size: 1 << 20) == .tooLong(path: "p"))
    }

    @Test func `directories, missing files and endless ones are refused`() throws {
        let folder = try ScratchDirectory()
        #expect(throws: SecretFile.Fault.self) { try SecretFile.read(folder.path) }
        #expect(throws: SecretFile.Fault.self) { try SecretFile.read(folder.file("none")) }
        #expect(throws: SecretFile.Fault.self) { try SecretFile.read("/dev/zero") }
        #expect(throws: SecretFile.Fault.self) { try SecretFile.read("") }
    }

    @Test func `the first token's file is private from the start and never replaced`() throws {
        let folder = try ScratchDirectory()
        let path = folder.file("admin.token")
        let secret = TokenText.make()
        try SecretFile.create(path, secret)
        #expect(try folder.mode(of: "admin.token") == 0o600)
        #expect(try SecretFile.read(path) == secret)
        #expect(throws: SecretFile.Fault.exists(path: path)) { try SecretFile.create(path, TokenText.make()) }
        #expect(try SecretFile.read(path) == secret)
        #expect(throws: SecretFile.Fault.self) { try SecretFile.create(folder.file("no/dir"), secret) }
    }
}

struct AuditFileTests {
    static func record(_ which: String = "e1", outcome: AuditRecord.Outcome = .done) -> AuditRecord {
        AuditRecord(
            at: .start,
            who: "token:1",
            from: "127.0.0.1:5",
            what: "sendMessage",
            which: which,
            outcome: outcome,
            requestID: "r1",
            text: AuditRecord.TextMark(Array("hello".utf8))
        )
    }

    @Test func `a line is one JSON object with the text's hash and length in its place`() throws {
        let line = Self.record().line
        #expect(line.last == 0x0A)
        #expect(line.filter { $0 == 0x0A }.count == 1)
        let root = try JSONDocument(parsing: Array(line.dropLast())).root
        #expect(root["who"]?.string == "token:1")
        #expect(root["result"]?.string == "done")
        #expect(root["textSha256"]?.string == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
        #expect(root["textBytes"]?.int == 5)
        #expect(!String(decoding: line, as: UTF8.self).contains("hello"))
    }

    @Test func `hostile names stay inside their line`() throws {
        let line = Self.record("a\nb\u{2028}\"}", outcome: .refused("MISSING_SCOPE")).line
        #expect(line.filter { $0 == 0x0A }.count == 1)
        let root = try JSONDocument(parsing: Array(line.dropLast())).root
        #expect(root["which"]?.string == "a\nb\u{2028}\"}")
        #expect(root["code"]?.string == "MISSING_SCOPE")
    }

    @Test func `generations rotate, stay private and are bounded`() throws {
        let folder = try ScratchDirectory()
        let file = AuditFile(path: folder.file("audit"), limit: 100, keep: 2)
        for index in 0..<50 { try file.append(Array("line \(index) 0123456789012345678901234567890\n".utf8)) }
        for name in ["audit", "audit.1", "audit.2"] {
            #expect(try folder.mode(of: name) == 0o600)
            let text = try folder.text(of: name)
            #expect(text.utf8.count <= 100)
            #expect(text.hasSuffix("\n"))
        }
        #expect(!folder.exists("audit.3"))
        #expect(try folder.text(of: "audit").contains("line 49"))
    }

    @Test func `a restart continues the file and closes it to others`() throws {
        let folder = try ScratchDirectory()
        try folder.write("old\n", to: "audit", mode: 0o644)
        try AuditFile(path: folder.file("audit")).append(Array("new\n".utf8))
        #expect(try folder.text(of: "audit") == "old\nnew\n")
        #expect(try folder.mode(of: "audit") == 0o600)
    }

    @Test func `where it cannot write it says so and tries again`() throws {
        let folder = try ScratchDirectory()
        let file = AuditFile(path: folder.file("no/audit"))
        #expect(throws: AuditFile.Failure.self) { try file.append([0x0A]) }
        #expect(throws: AuditFile.Failure.self) { try file.append([0x0A]) }
        try file.append([])
    }
}
