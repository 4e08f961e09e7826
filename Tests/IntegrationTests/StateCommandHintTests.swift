import Basics
import Commands
import Configuration
import Outbox
import TestSupport
import Testing

@testable import Store
@testable import ladle

/// The next step that `ladle backup` and `ladle outbox recover` print. No program is started here.
struct StateCommandHintTests {
    private let scratch: ScratchDirectory

    init() throws {
        scratch = try ScratchDirectory()
    }

    private func parse(_ words: String...) throws -> ParsedCommand {
        guard case .run(let command) = try CommandLineParser.parse(words) else { throw UsageError("no command") }
        return command
    }

    @Test func `a backup that failed names what is wrong with its target`() throws {
        try scratch.write("x", to: "file")
        func remedy(_ name: String) -> String {
            BackupCommand.remedy(for: scratch.file(name), of: "/my state").replacingText(scratch.path, with: "X")
        }
        #expect(remedy("new folder/b") == "mkdir -p 'X/new folder'")
        #expect(remedy("file") == "name a file that does not exist yet")
        #expect(remedy("file/b") == "name another folder: X/file is a file")
        #expect(remedy("b") == "ladle doctor --state '/my state'")
    }

    @Test(arguments: ["backup", "restore"])
    func `a file without a name is a mistake in the command line`(name: String) throws {
        let command = try parse(name, "", "--state", scratch.path)
        let places = SettingsPlaces(environment: [:])
        let error = #expect(throws: CommandFailure.self) {
            try (name == "backup" ? BackupCommand.backup : BackupCommand.restore)(command, Settings(), places)
        }
        #expect(error?.exit == .usage && error?.hint == "ladle \(name) FILE")
    }

    @Test func `what is read from a damaged database obeys no terminal`() throws {
        var report = RecoveryReport(path: "/s/set-aside", reason: "dam\u{1B}[2Jage")
        report.unreadable = "\u{9B}2J"
        let now = Timestamp(milliseconds: 0)
        report.entries = [
            OutboxEntry(
                id: "e\u{1B}1",
                kind: .message,
                session: "s\u{202E}",
                text: "a\u{1B}]0;x\u{7}b\nc",
                createdAt: now,
                expiresAt: now
            )
        ]
        let text = RecoverCommand.text(report, try parse("outbox", "recover", "--state", "/s"))
        #expect(
            !text.unicodeScalars.contains {
                $0 != "\n" && $0.properties.generalCategory == .control || $0 == "\u{202E}"
            }
        )
        #expect(text.contains("  e1  queued  s  a]0;xb c\n"))
    }

    @Test func `the choice after damage can be typed as it is printed`() throws {
        let report = RecoveryReport(path: "/s/set-aside", reason: "damage")
        let text = RecoverCommand.text(report, try parse("outbox", "recover", "--state", "/my state"))
        #expect(text.contains("  ladle outbox recover --state '/my state' --restore   "))
        #expect(text.contains("  ladle outbox recover --state '/my state' --discard   "))
    }
}
