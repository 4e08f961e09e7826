import Testing

@testable import Commands

/// Tokens, and the devices that ask for one.
struct AccessCommandTests {
    @Test func `a token's secret alone is the output`() throws {
        let io = RecordedIO()
        io.replies = [
            .json(201, #"{"id":"t1","name":"k","scopes":["read","send"],"token":"ldl_abc"}"#), .json(204, ""),
        ]
        #expect(
            io.run("token", "create", "--name", "k", "--scopes", "read, send", "--session", "work", "--expires", "90d")
                == .ok
        )
        #expect(io.output == "ldl_abc\n")
        #expect(
            io.requests[0].hasSuffix(
                #"{"name":"k","scopes":["read","send"],"sessions":["work"],"expiresInSeconds":7776000}"#
            )
        )
        #expect(io.run("token", "revoke", "t1") == .ok)
        #expect(io.requests[1].hasPrefix("DELETE /v1/tokens/t1 "))
        #expect(io.run("token", "create", "--name", "k") == .usage)
    }

    @Test func `a key for OpenAI's API is shown with its base URL`() throws {
        let io = RecordedIO()
        let made = #"{"id":"t1","name":"k","scopes":["send"],"paths":["/openai","/ollama"],"token":"ldl_abc"}"#
        let status = #"{"listeners":["unix:/run/x","tailnet:18780","192.0.2.7:8080"]}"#
        io.replies = [.json(201, made), .json(200, status)]
        #expect(io.run("token", "create", "--openai", "k", "--session", "work") == .ok)
        #expect(
            io.requests[0].hasSuffix(
                #"{"name":"k","scopes":["send"],"sessions":["work"],"paths":["/openai","/ollama"]}"#
            )
        )
        #expect(io.output == "base URL  http://192.0.2.7:8080/openai/v1\nAPI key   ldl_abc\n")
        #expect(io.run("token", "create", "--openai", "k", "--scopes", "admin") == .usage)
    }

    @Test func `a token's paths are sent, told and listed`() throws {
        let io = RecordedIO()
        let token = #"{"id":"t1","name":"k","scopes":["read"],"paths":["/v1/runs","/v1/x\u001b"],"token":"ldl_abc"}"#
        io.replies = [.json(201, token), .json(422, "{}"), .json(200, #"{"tokens":[\#(token)]}"#)]
        #expect(io.run("token", "create", "--name", "k", "--scopes", "read", "--paths", "/v1/runs, /v1/x") == .ok)
        #expect(io.requests[0].hasSuffix(#"{"name":"k","scopes":["read"],"paths":["/v1/runs","/v1/x"]}"#))
        #expect(io.errors.contains("scopes read, only for /v1/runs,/v1/x") && !io.errors.contains("\u{1b}"))
        #expect(io.run("token", "create", "--name", "k", "--scopes", "read", "--paths", "") != .ok)
        #expect(io.requests[1].hasSuffix(#"{"name":"k","scopes":["read"],"paths":[]}"#))
        #expect(io.run("token", "list") == .ok)
        #expect(io.output.contains("PATHS") && io.output.contains("/v1/runs,/v1/x"))
    }

    @Test func `a device gets the paths that were shown, or those that are named`() throws {
        func asking(_ more: String) -> RecordedIO {
            let io = RecordedIO()
            let request = #"{"code":"AB2-CD3","name":"p","scopes":["read"],"from":"100.64.0.2"\#(more)}"#
            io.replies = [.json(200, #"{"requests":[\#(request)]}"#), .json(200, #"{"name":"p"}"#)]
            return io
        }
        let paths = #","paths":["/v1/runs","/v1/events"]"#
        let shown = asking(paths)
        #expect(shown.run("clients", "approve", "AB2-CD3") == .ok)
        #expect(shown.errors.contains("asks for the scopes read, only for /v1/runs,/v1/events."))
        #expect(shown.requests[1].hasSuffix(#"{"code":"AB2-CD3","scopes":["read"],"paths":["/v1/runs","/v1/events"]}"#))
        for (given, sent) in [("/v1/runs", #"["/v1/runs"]"#), ("", "[]")] {
            let named = asking(given.isEmpty ? "" : paths)
            #expect(named.run("clients", "approve", "AB2-CD3", "--paths", given) == .ok)
            #expect(named.requests[1].hasSuffix(#""paths":\#(sent)}"#), "\(named.requests[1])")
        }
        let all = asking("")
        #expect(all.run("clients", "approve", "AB2-CD3") == .ok)
        #expect(!all.requests[1].contains("paths"))
    }

    @Test func `pairing requests are listed and decided by their code`() throws {
        let io = RecordedIO()
        io.replies = [
            .json(
                200,
                #"{"requests":[{"code":"AB2-CD3","name":"phone","scopes":["read"],"from":"100.64.0.2","expiresAt":"2026-03-04T12:04:00.000Z"}]}"#
            )
        ]
        io.replies += [io.replies[0], .json(200, #"{"name":"phone"}"#), .json(200, #"{"name":"phone"}"#)]
        #expect(io.run("clients") == .ok)
        #expect(io.output.contains("AB2-CD3"))
        #expect(io.run("clients", "approve", "ab2-cd3", "--scopes", "read") == .ok)
        #expect(io.run("clients", "reject", "ab2-cd3") == .ok)
        #expect(io.requests[2].hasPrefix("POST /v1/pairing/approve "))
        #expect(io.requests[2].hasSuffix(#"{"code":"AB2-CD3","scopes":["read"]}"#))
    }

    @Test func `an approval shows who asks for what, and is not given unseen`() throws {
        func asking(_ scopes: String) -> RecordedIO {
            let io = RecordedIO()
            io.replies = [
                .json(
                    200,
                    #"{"requests":[{"code":"AB2-CD3","name":"pho\u001bne","scopes":[\#(scopes)],"from":"100.64.0.2"}]}"#
                ),
                .json(200, #"{"name":"phone"}"#),
            ]
            return io
        }
        // A script may approve a device that reads and sends; for more it must name the scopes.
        let plain = asking(#""read","send""#)
        #expect(plain.run("clients", "approve", "AB2-CD3") == .ok)
        #expect(
            plain.errors.contains("from 100.64.0.2 asks for the scopes read,send.") && !plain.errors.contains("\u{1b}")
        )
        #expect(plain.requests[1].hasSuffix(#"{"code":"AB2-CD3","scopes":["read","send"]}"#))
        for scope in ["admin", "control", "identity", "approvals", "nodes"] {
            let io = asking(#""read","\#(scope)""#)
            #expect(io.run("clients", "approve", "AB2-CD3") == .usage)
            #expect(io.requests.count == 1)
            #expect(io.errors.contains("it asks for \(scope), and nobody is at a terminal"))
            #expect(io.errors.contains("ladle clients approve AB2-CD3 --scopes read,\(scope)"))
        }
        let named = asking(#""read","admin""#)
        #expect(named.run("clients", "approve", "AB2-CD3", "--scopes", "read,admin") == .ok)
        // A person is asked, and only yes counts as yes.
        for (typed, isGiven) in [("y\n", true), ("Yes\n", true), ("n\n", false), ("\n", false), ("", false)] {
            let io = asking(#""admin""#)
            (io.isInputTerminal, io.isErrorTerminal, io.input) = (true, true, Array(typed.utf8))
            #expect(io.run("clients", "approve", "AB2-CD3") == (isGiven ? .ok : .temporary), "\(typed)")
            #expect(io.requests.count == (isGiven ? 2 : 1))
            #expect(io.errors.contains("[y/N]"))
        }
        let unknown = asking(#""read""#)
        #expect(unknown.run("clients", "approve", "NO-CODE") == .usage)
        #expect(unknown.requests.count == 1)
    }

    @Test func `what cannot be undone is asked for at a terminal, and not in a script`() {
        let admins =
            #"{"tokens":[{"id":"t1","name":"desk","scopes":["admin"]},{"id":"t2","name":"x","scopes":["read"]}]}"#
        let session = #"{"key":"agent:main:den","title":"Den\u001b[2J","titleFrom":"label"}"#
        let cases: [(words: [String], question: String, replies: [RecordedIO.Reply])] = [
            (["sessions", "reset", "den"], "Begin agent:main:den (Den", [.json(200, session), .json(200, session)]),
            (["sessions", "delete", "den"], "and its transcript?", [.json(200, session), .json(200, session)]),
            (["token", "revoke", "desk"], "Revoke desk? It is the last", [.json(200, admins), .json(204, "")]),
        ]
        for each in cases {
            for (typed, isDone) in [("y\n", true), ("n\n", false), ("", false)] {
                let io = RecordedIO()
                (io.isInputTerminal, io.isErrorTerminal, io.input) = (true, true, Array(typed.utf8))
                io.replies = each.replies
                #expect(io.run(each.words) == (isDone ? .ok : .temporary), "\(each.words) \(io.errors)")
                #expect(io.requests.count == (isDone ? 2 : 1))
                #expect(io.errors.contains(each.question) && !io.errors.contains("\u{1b}[2J"), "\(io.errors)")
            }
            let isToken = each.words[0] == "token"
            for (isTerminal, more) in [(false, []), (true, ["--yes"])] {
                let io = RecordedIO()
                (io.isInputTerminal, io.isErrorTerminal) = (isTerminal, isTerminal)
                io.replies = isToken ? [each.replies[1]] : each.replies
                #expect(io.run(each.words + more) == .ok)
                #expect(!io.errors.contains("[y/N]"))
            }
        }
        let other = RecordedIO()
        (other.isInputTerminal, other.isErrorTerminal) = (true, true)
        other.replies = [.json(200, admins), .json(204, "")]
        #expect(other.run("token", "revoke", "t2") == .ok)
        #expect(!other.errors.contains("[y/N]"))
    }
}
