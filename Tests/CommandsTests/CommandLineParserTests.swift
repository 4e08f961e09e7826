import Configuration
import Testing

@testable import Commands

struct CommandLineParserTests {
    private func parse(_ line: String) throws -> ParsedCommand {
        guard case .run(let command) = try CommandLineParser.parse(line.split(separator: " ").map(String.init)) else {
            throw UsageError("no command")
        }
        return command
    }

    @Test func `options stand anywhere, and two dashes end them`() throws {
        let command = try parse("send --session work hello --wait --thinking=low -- --not an option")
        #expect(command.name == "send")
        #expect(command.arguments == ["hello", "--not", "an", "option"])
        #expect(command["--session"] == "work")
        #expect(command["--wait"] == "")
        #expect(command["--thinking"] == "low")
        #expect(try parse("send --wait=30 x")["--wait"] == "30")
        #expect(try parse("send -")["--wait"] == nil)
        #expect(try parse("token create --session a --session=b").all("--session") == ["a", "b"])
    }

    @Test func `a group without its command means the usual one`() throws {
        #expect(try parse("outbox").name == "outbox list")
        #expect(try parse("outbox --json").name == "outbox list")
        #expect(try parse("identity").name == "identity show")
        #expect(try parse("profile set a=b").name == "profile set")
        #expect(try parse("tls self-signed").name == "tls self-signed")
    }

    @Test func `every setting is a flag of serve`() throws {
        let command = try parse(
            "serve --audit-enabled --gateway ws://h:1 --listen a:1 --listen=b:2 --no-insecure-lan --outbox-ttl 2h --config f"
        )
        #expect(
            command.settings.map(\.key.name) == [
                "audit.enabled", "gateway.url", "listen", "listen", "insecureLan", "outbox.ttl",
            ]
        )
        #expect(command.settings.map(\.text) == ["true", "ws://h:1", "a:1", "b:2", "false", "2h"])
        #expect(command["--config"] == "f")
        for key in ConfigurationTable.keys {
            let line = key.kind.isBool ? "serve \(key.flag)" : "serve \(key.flag) x"
            #expect(try parse(line).settings.map(\.key) == [key])
        }
    }

    @Test func `the options of clients may stand before the command`() throws {
        #expect(try parse("--socket /s status")["--socket"] == "/s")
        #expect(try parse("--json outbox").name == "outbox list")
        let command = try parse("--url=http://h:1 outbox --context a show e1 --json")
        #expect(command.name == "outbox show")
        #expect(command["--url"] == "http://h:1")
        #expect(command["--context"] == "a")
        #expect(command.arguments == ["e1"])
    }

    @Test func `a switch takes its value behind a blank too`() throws {
        #expect(
            try parse("serve --demo false --insecure-lan true --demo").settings.map(\.text) == [
                "false", "true", "true",
            ]
        )
    }

    @Test func `the demo switched off takes a gateway`() throws {
        #expect(try parse("serve --demo --no-demo --gateway ws://h:1").settings.count == 3)
    }

    static let mistakes: [(String, String, String?)] = [
        ("sned hello", "unknown command sned", "did you mean: ladle send"),
        ("outbox lst", "unknown command outbox lst", "did you mean: ladle outbox list"),
        ("send --sesion x", "unknown option --sesion", "did you mean --session?"),
        ("serve --gatway ws://x", "unknown option --gatway", "did you mean --gateway?"),
        (
            "serve --token abc", "unknown option --token",
            "a secret does not belong there: put it into a file of mode 0600 and set --token-file"
        ),
        ("serve --gateway", "--gateway needs a value: URL", nil),
        (
            "serve --demo --gateway ws://h:1",
            "--demo and --gateway exclude each other: the demo brings its own gateway",
            "leave out --demo to connect to ws://h:1"
        ),
        (
            "serve --gateway-url ws://h:1 --demo-enabled=true",
            "--demo-enabled and --gateway-url exclude each other: the demo brings its own gateway", nil
        ),
        ("serve --no-listen", "unknown option --no-listen", nil),
        ("send --session", "--session needs a value: --session KEY", nil),
        ("send --json=yes x", "--json takes no value", nil),
        (
            "send --thinking loww x", "--thinking must be one of off, minimal, low, medium, high, not \"loww\"",
            "did you mean low?"
        ),
        ("outbox show", "ID is missing: Id of the entry", nil),
        ("outbox show a b", "unexpected argument b", nil),
        ("completions tcsh", "shell must be one of bash, zsh, fish, not \"tcsh\"", nil),
        ("--bogus", "unknown option --bogus", nil), ("--verson", "unknown option --verson", "did you mean --version?"),
    ]

    @Test(arguments: mistakes)
    func `a wrong line says what to type`(line: String, message: String, hint: String?) {
        do throws(UsageError) {
            _ = try CommandLineParser.parse(line.split(separator: " ").map(String.init))
            Issue.record("accepted")
        } catch {
            #expect(error.message == message)
            #expect(hint == nil || error.hint == hint)
        }
    }

    @Test func `help and version are understood everywhere`() throws {
        for line in [[], ["--help"], ["-h"], ["send", "--help"], ["outbox", "-h"], ["send", "x", "--help"], ["tls"]] {
            guard case .help = try CommandLineParser.parse(line) else {
                Issue.record("\(line) is no help")
                continue
            }
        }
        for line in [["--version"], ["-V"]] {
            guard case .version = try CommandLineParser.parse(line) else {
                Issue.record("\(line) is no version")
                continue
            }
        }
    }
}
