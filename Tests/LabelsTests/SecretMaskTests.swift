import JSONBytes
import Testing

@testable import Labels

struct SecretMaskTests {
    private static let lines: [(String, String)] = [
        ("curl -H 'Authorization: Bearer abc.def' https://x", "curl -H 'Authorization: Bearer •••' https://x"),
        ("curl -H \"X-Api-Key: hunter2\" https://x", "curl -H \"X-Api-Key: •••\" https://x"),
        ("curl -u ana:s3cret https://x", "curl -u ana:••• https://x"),
        ("curl --user=ana:s3cret https://x", "curl --user=ana:••• https://x"),
        ("git clone https://ana:s3cret@git.example/x.git", "git clone https://•••@git.example/x.git"),
        ("psql postgres://u:p@db/x", "psql postgres://•••@db/x"),
        ("API_KEY=abc node x.js", "API_KEY=••• node x.js"),
        ("export GITHUB_TOKEN='abc def'", "export GITHUB_TOKEN='•••'"),
        ("mysql --password hunter2 -e x", "mysql --password ••• -e x"),
        ("mysql -uroot -phunter2 db", "mysql -uroot -p••• db"),
        ("sshpass -p hunter2 ssh h", "sshpass -p ••• ssh h"),
        ("tool --token=abc --verbose", "tool --token=••• --verbose"),
        ("tool --api-key \"a b\" x", "tool --api-key \"•••\" x"),
        (#"{"password": "hunter2", "user": "ana"}"#, #"{"password": "•••", "user": "ana"}"#),
        (#"curl -d "{\"secret\":\"abc\"}" x"#, #"curl -d "{\"secret\":\"•••\"}" x"#),
        ("https://x/y?access_token=abc&page=2", "https://x/y?access_token=•••&page=2"),
        ("echo sk-proj-a1b2c3d4e5f6g7h8", "echo •••"),
        ("echo ghp_0123456789abcdef", "echo •••"),
        ("echo eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOi.c2lnbmF0dXJl", "echo •••"),
        ("echo 0123456789abcdef0123456789abcdef", "echo •••"),
        ("echo 550e8400-e29b-41d4-a716-446655440000", "echo •••"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nok", "•••\nok"),
        ("PASSWORD=$SECRET run", "PASSWORD=$SECRET run"),
        ("docker run -p 8080:80 web", "docker run -p 8080:80 web"),
        ("cat 2026-03-01-weekly-report-final-draft.md", "cat 2026-03-01-weekly-report-final-draft.md"),
        ("max_tokens=5 keyboard=us", "max_tokens=5 keyboard=us"),
        ("git push -u origin main", "git push -u origin main"),
    ]

    @Test(arguments: lines)
    func `possible credentials are masked, the rest stays`(text: String, expected: String) {
        #expect(SecretMask.text(text) == expected)
    }

    private static let calls: [String] = [
        #"{"command":"curl -H 'Authorization: Bearer s3cr3tv4lue' https://u:s3cr3tv4lue@a.example/x?token=s3cr3tv4lue"}"#,
        #"{"command":"PASSWORD=s3cr3tv4lue ./run.sh --password s3cr3tv4lue"}"#,
        #"{"command":"echo s3cr3tv4lues3cr3tv4lue1234 > s3cr3tv4lues3cr3tv4lue1234.txt"}"#,
        #"{"command":"git clone https://oauth2:s3cr3tv4lue@git.example/a.git"}"#,
        #"{"command":["mysql","-ps3cr3tv4lue","-e","select 1"]}"#,
        #"{"url":"https://u:s3cr3tv4lue@a.example/?api_key=s3cr3tv4lue"}"#,
    ]

    @Test(arguments: calls)
    func `no form of a label or detail holds the secret`(arguments: String) throws {
        for tool in ["exec", "web_fetch", "browser", "unknown_tool"] {
            for table in LabelTable.allCases {
                let label = LabelRequest(tool: tool, arguments: try JSONDocument(parsing: arguments).root).label(table)
                let shown = [
                    label.running, label.done(milliseconds: 5), label.failed(exitCode: 1, milliseconds: 2),
                    label.inBackground, label.waitingForApproval, label.detail ?? "",
                ]
                for text in shown { #expect(!text.contains("s3cr3tv4lue"), "\(tool) \(table): \(text)") }
            }
        }
    }
}
