import Configuration
import JSONBytes
import Testing

@testable import Commands

struct UsageCommandTests {
    private static let usage = #"""
        {"asOf":"2026-03-04T11:58:00Z","stale":false,"providers":[{"id":"anthropic","name":"Claude","plan":"Max","windows":
        [{"name":"5h","usedPercent":42.5,"resetsAt":"2026-03-04T13:10:00Z"},{"name":"Week","usedPercent":null}]},
        {"id":"zai","name":"Z","windows":[],"error":"HTTP 401"}],
        "today":{"date":"2026-03-04","tokens":383928,"costUsd":0.384,"costIsLowerBound":true}}
        """#

    /// The text without the blanks at the ends of its lines.
    private static func withoutEnds(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }.joined(separator: "\n")
    }

    @Test func `usage is a table, and what today cost`() {
        let io = RecordedIO()
        io.replies = [.json(200, Self.usage)]
        #expect(io.run("usage") == .ok)
        #expect(io.requests[0].hasPrefix("GET /v1/usage HTTP"))
        #expect(
            Self.withoutEnds(io.output) == """
                PROVIDER  PLAN  WINDOW  USED              RESETS
                Claude    Max   5h      42.5%             14:10
                Claude    Max   Week    ?
                Z                       failed: HTTP 401
                today: 383928 tokens, at least $0.38

                """,
            "\(io.output)"
        )
        #expect(io.errors.isEmpty)
    }

    @Test func `usage that is old or not known yet is marked as such`() {
        for (answer, words) in [
            (#"{"stale":true,"providers":[]}"#, "not told yet"),
            (#"{"asOf":"2026-03-04T11:00:00Z","stale":true,"providers":[]}"#, "As of 12:00"),
        ] {
            let io = RecordedIO()
            io.replies = [.json(200, answer)]
            #expect(io.run("usage", "show") == .ok)
            #expect(io.output == "Nothing is known of the usage.\n")
            #expect(io.errors.contains(words), "\(io.errors)")
        }
    }

    @Test func `days and sessions are tables with their sum`() {
        let figures = #""tokens":10,"costUsd":1.5,"costIsLowerBound":false"#
        let rest = #""totals":{\#(figures)},"complete":false,"tzApprox":true,"utcOffset":"+02:00","live":true"#
        let io = RecordedIO()
        io.replies = [
            .json(200, #"{"days":[{"date":"2026-03-04",\#(figures)}],\#(rest)}"#),
            .json(200, #"{"sessions":[{"key":"agent:main:main"}],\#(rest)}"#),
        ]
        #expect(
            io.run(
                "usage",
                "cost",
                "--from",
                "2026-03-01",
                "--to",
                "2026-03-04",
                "--tz",
                "Europe/Berlin",
                "--agent",
                "a"
            ) == .ok
        )
        #expect(
            io.requests[0].hasPrefix("GET /v1/usage/cost?from=2026-03-01&to=2026-03-04&tz=Europe%2FBerlin&agent=a HTTP")
        )
        #expect(io.output == "DAY         TOKENS  COST\n2026-03-04  10      $1.50\nin all: 10 tokens, $1.50\n")
        #expect(io.errors.contains("UTC+02:00") && io.errors.contains("still counts"))
        #expect(io.run("usage", "sessions", "--limit", "5") == .ok)
        #expect(io.requests[1].hasPrefix("GET /v1/usage/sessions?limit=5 HTTP"))
        #expect(io.output.contains("agent:main:main  ?\n"))
    }

    @Test func `models are a table`() {
        let io = RecordedIO()
        io.replies = [
            .json(
                200,
                #"{"models":[{"id":"p/m","name":"M","provider":"p","contextTokens":1000,"default":true},{"id":"p/n","name":"N","provider":"p","alias":"n","available":false,"default":false}],"live":true}"#
            )
        ]
        #expect(io.run("models", "--view", "all") == .ok)
        #expect(io.requests[0].hasPrefix("GET /v1/models?view=all HTTP"))
        #expect(
            Self.withoutEnds(io.output) == """
                MODEL  NAME  ALIAS  CONTEXT
                p/m    M            1000     default
                p/n    N     n               not available

                """,
            "\(io.output)"
        )
    }
}
