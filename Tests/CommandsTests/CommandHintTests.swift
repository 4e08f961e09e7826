import Basics
import Testing

@testable import Commands

/// A command that is printed works as it is printed, in the shell of the person that typed the one before it.
struct CommandHintTests {
    private func parse(_ words: [String]) throws -> ParsedCommand {
        guard case .run(let command) = try CommandLineParser.parse(words) else { throw UsageError("no command") }
        return command
    }

    @Test(
        arguments: [
            ("ladle outbox list", ["doctor", "--state", "/s"], "ladle outbox list --state /s"),
            ("ladle outbox recover", ["outbox", "recover", "--state", "a b"], "ladle outbox recover --state 'a b'"),
            (
                "no backup? then: ladle outbox recover)", ["doctor", "--state", "/s"],
                "no backup? then: ladle outbox recover --state /s)"
            ),
            ("ladle serve --listen tailnet", ["doctor", "--state", "/s"], "ladle serve --state /s --listen tailnet"),
            ("ladle serve", ["doctor", "--demo", "--config", "c"], "ladle serve --config c --demo"),
            ("ladle serve", ["status", "--socket", "/s/ladle.sock"], "ladle serve --state /s"),
            ("ladle serve", ["status", "--socket", "/s/other"], "ladle serve"),
            (
                "ladle outbox retry e1", ["send", "--socket", "/s/other", "x"],
                "ladle outbox retry --socket /s/other e1"
            ),
            (
                "ladle runs; ladle status", ["abort", "r1", "--url", "http://h:1", "--token-file", "t"],
                "ladle runs --url http://h:1 --token-file t; ladle status"
            ),
            ("ladle serve", ["serve", "--token-file", "of-the-gateway", "--state", "/s"], "ladle serve --state /s"),
            ("ladle restore FILE", ["backup", "--demo", "--state", "/s", "f"], "ladle restore --state /s --demo FILE"),
            ("ladle discover", ["status", "--context", "attic"], "ladle discover"),
            ("ladle outbox recover --state DIR", ["outbox", "recover", "--state", "/s"], nil),
            ("the log of ladle serve says more", ["status", "--state", "/s"], nil),
            ("ladle doctor", ["status"], nil),
            ("openclaw devices list", ["status", "--state", "/s"], nil),
        ] as [(String, [String], String?)]
    )
    func `a command in a hint says where Ladle is, as the user did`(
        hint: String,
        words: [String],
        placed: String?
    ) throws {
        #expect(CommandHint.placed(hint, as: try parse(words)) == placed ?? hint)
    }

    @Test func `who started it with --state learns of --state`() {
        let io = RecordedIO()
        #expect(io.run("send", "--state", "/s", "hello") == .unavailable)
        #expect(io.errors.contains("→ start it with: ladle serve --state /s "))
        #expect(io.errors.contains("--state DIR, --socket PATH)"))
    }

    @Test func `a path is not quoted without need`() {
        #expect(Printable.argument("/var/lib/ladle") == "/var/lib/ladle")
        #expect(Printable.argument("/it's here") == "'/it'\\''s here'")
    }
}
