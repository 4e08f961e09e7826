/// The scripts, and the choice between them by the message's lower-cased text. The first match wins; every text has
/// one.
extension DemoScript {
    /// - Parameter read: returns the text of a file in the agent's workspace.
    static func matching(_ message: String, read: (String) -> String?) -> DemoScript {
        let text = message.lowercased()
        let words = text.split { $0 == " " || $0 == "\n" }.map(String.init)
        if words.first == "burst" { return burst(words) }
        if words.first == "echo" { return echo(message) }
        if words.first == "approve" { return approve(message) }
        if words.first == "ask" { return ask(message) }
        if text.contains("---identity---") || text.contains("---user---") { return identityFrame(message, read: read) }
        if text.contains("append the weather") { return appendWeather }
        if text.contains("train") { return bookTrain }
        if text.contains("http://") || text.contains("https://") || text.contains("fetch") { return fetch(message) }
        if text.contains("call yourself ") { return rename(message) }
        if let failure = providerFailure(text) { return failure }
        if text.contains("edit") { return editFile }
        if text.contains("failing command") || text.contains("exit code") || text.contains("badtool") {
            return failingCommand
        }
        if text.contains("parallel") || text.contains("twotools") { return parallelTools }
        if text.contains("no_reply") || text.contains("silent") { return silent }
        if text.contains("longtext") || text.contains("long text") { return longText(words) }
        if text.contains("slow count") { return slowCount }
        if text.contains("slow story") { return slowStory }
        if text.contains("longtool") || text.contains("long tool") { return longTool }
        if text.contains("think") { return thinking }
        if text.contains("weather") { return weather }
        return greeting(message)
    }

    /// The longest part of a question that its answer repeats: streamed text is cumulative, so its cost grows with the
    /// square.
    static let repeatLimit = 4_000

    static func greeting(_ message: String) -> DemoScript {
        DemoScript(
            steps: [
                .pause(ms: 300), .think("A short greeting will do."),
                .say("Hello! You said: \(message.prefix(repeatLimit))", wordMs: 60), .pause(ms: 200),
            ]
        )
    }

    static func echo(_ message: String) -> DemoScript {
        let rest = message.drop { $0 == " " }.dropFirst(4).drop { $0 == " " || $0 == "\n" }
        return DemoScript(
            steps: [.say(rest.isEmpty ? "(nothing)" : String(rest.prefix(longTextLimit)), wordMs: 30)]
        )
    }

    /// `approve COMMAND` or `approve 5s COMMAND`: a command that an operator must allow, within that time. The command
    /// is not run.
    static func approve(_ message: String) -> DemoScript {
        var rest = message.drop { $0 == " " }.dropFirst(7).drop { $0 == " " || $0 == "\n" }
        let life = takeLife(&rest)
        let command = rest.isEmpty ? "date -u" : String(rest)
        let isEcho = command.hasPrefix("echo ")
        var call = ToolCall.exec(
            command,
            meta: isEcho ? "print text" : "run \(command.prefix { $0 != " " && $0 != "\n" })",
            output: isEcho ? String(command.dropFirst(5)) : "done",
            durationMs: 200,
            updates: [(60, (isEcho ? String(command.dropFirst(5)) : "done") + "\n")]
        )
        call.needsApproval = true
        call.approvalLifeMs = life
        return DemoScript(
            steps: [
                .pause(ms: 200), .say("Let me run that.", wordMs: 40), .tools([call]), .pause(ms: 100), .sayOutput,
            ]
        )
    }

    /// Removes a number of seconds such as `5s` from the front.
    private static func takeLife(_ rest: inout Substring) -> Int? {
        guard let word = rest.split(separator: " ", maxSplits: 1).first, word.last == "s",
            let seconds = Int(word.dropLast())
        else { return nil }
        rest = rest.dropFirst(word.count).drop { $0 == " " }
        return min(max(seconds, 1), 86_400) * 1_000
    }

    /// `ask Which colour? red | green`, `ask 5s …` or `ask secret …`: a question to a person, which only the newest
    /// releases have.
    static func ask(_ message: String) -> DemoScript {
        var rest = message.drop { $0 == " " }.dropFirst(3).drop { $0 == " " || $0 == "\n" }
        let life = takeLife(&rest)
        let isSecret = rest.hasPrefix("secret ")
        if isSecret { rest = rest.dropFirst(7) }
        func words(_ text: Substring) -> String { text.split(separator: " ").joined(separator: " ") }
        let end = rest.firstIndex(of: "?").map(rest.index(after:)) ?? rest.endIndex
        let options = rest[end...].split(separator: "|").map(words).filter { !$0.isEmpty }
        let text = words(rest[..<end])
        var call = ToolCall(
            name: "ask_user",
            arguments: ["question": text],
            meta: "ask a person",
            durationMs: 200,
            output: "Nobody can be asked."
        )
        call.asks = Question(text: text.isEmpty ? "Yes or no?" : text, options: options, isSecret: isSecret)
        call.approvalLifeMs = life
        return DemoScript(
            steps: [.pause(ms: 200), .say("Let me ask.", wordMs: 40), .tools([call]), .pause(ms: 100), .sayOutput]
        )
    }

    static let weather = DemoScript(
        steps: [
            .pause(ms: 300), .think("The weather is asked for. One small command will tell."),
            .say("Let me check that.", wordMs: 40),
            .tools([
                .exec(
                    "echo 'sunny 21C' > weather.txt && cat weather.txt",
                    meta: "print text → show weather.txt",
                    output: "sunny 21C",
                    durationMs: 400,
                    updates: [(120, "sunny 21C\n")]
                )
            ]),
            .pause(ms: 300), .think("The command printed the weather."),
            .say("It is **sunny**, 21 °C. I saved it to `weather.txt`.", wordMs: 40),
        ]
    )

    static let appendWeather = DemoScript(
        steps: [
            .pause(ms: 400),
            .think("The weather goes to the end of weather.txt. One command can ask for it and append it."),
            .tools([
                .exec(
                    "echo \"$(curl -s 'https://wttr.in/Berlin?format=3')\" >> weather.txt && tail -n 1 weather.txt",
                    meta: "print text → show last line of weather.txt",
                    output: "Berlin: ⛅️ +21°C",
                    durationMs: 1_250,
                    updates: [(700, "Berlin: ⛅️ +21°C\n")]
                )
            ]),
            .pause(ms: 400), .think("The line is in the file."),
            .say("Done: I appended the current weather, Berlin: ⛅️ +21°C, to `weather.txt`.", wordMs: 70),
        ]
    )

    static let bookTrain = DemoScript(
        steps: [
            .pause(ms: 300), .think("First find the connections, then open the timetable and choose the early one."),
            .say("I will look for a train.", wordMs: 50),
            .tools([
                ToolCall(
                    name: "web_search",
                    arguments: ["query": "train Berlin to Hamburg tomorrow morning", "count": 5],
                    meta: "for \"train Berlin to Hamburg tomorrow morning\"",
                    durationMs: 700,
                    output: "1. Timetable Berlin - Hamburg\n2. Saver fares\n3. Platform information"
                )
            ]),
            .tools([
                ToolCall(
                    name: "browser",
                    arguments: ["action": "open", "url": "https://trains.example/timetable"],
                    meta: "open https://trains.example/timetable",
                    durationMs: 600,
                    output: "Opened: Timetable"
                )
            ]),
            .tools([
                ToolCall(
                    name: "browser",
                    arguments: ["action": "type", "ref": "e12", "text": "Berlin Hbf"],
                    meta: "type e12",
                    durationMs: 350,
                    output: "ok"
                )
            ]),
            .think("Two trains fit. The 08:36 is faster."),
            .tools([
                ToolCall(
                    name: "browser",
                    arguments: ["action": "click", "ref": "e31"],
                    meta: "click e31",
                    durationMs: 450,
                    output: "Selected: ICE 704, 08:36"
                )
            ]),
            .tools([
                ToolCall(
                    name: "browser",
                    arguments: ["action": "screenshot"],
                    meta: "screenshot",
                    durationMs: 300,
                    output: "screenshot saved"
                )
            ]),
            .pause(ms: 300),
            .say(
                "Your train is chosen: **ICE 704**, Berlin Hbf 08:36 to Hamburg Hbf 10:24, 29.90 €. Shall I book it?",
                wordMs: 60
            ),
        ]
    )

    static func fetch(_ message: String) -> DemoScript {
        let found = message.split { $0 == " " || $0 == "\n" }.first {
            $0.hasPrefix("http://") || $0.hasPrefix("https://")
        }
        let url = found.map { String($0.prefix(2_000)) } ?? "https://example.com/"
        return DemoScript(
            steps: [
                .pause(ms: 300), .think("The page has to be read first."),
                .tools([
                    ToolCall(
                        name: "web_fetch",
                        arguments: ["url": url, "extractMode": "markdown"],
                        meta: "from \(url)",
                        durationMs: 900,
                        output: "# Example Domain\n\nFor use in examples."
                    )
                ]),
                .pause(ms: 300), .say("The page says: Example Domain, for use in examples.", wordMs: 60),
            ]
        )
    }

    static let editFile = DemoScript(
        steps: [
            .pause(ms: 300), .think("Read the notes, then change one line."),
            .tools([
                ToolCall(
                    name: "read",
                    arguments: ["path": "notes/todo.md"],
                    meta: "from notes/todo.md",
                    durationMs: 150,
                    output: "# Todo\n- one\n- two\n"
                )
            ]),
            .pause(ms: 300),
            .tools([
                ToolCall(
                    name: "edit",
                    arguments: ["path": "notes/todo.md", "oldText": "- two", "newText": "- three"],
                    meta: "in notes/todo.md (7 chars)",
                    durationMs: 250,
                    output: "Successfully replaced text in notes/todo.md."
                )
            ]),
            .pause(ms: 300), .say("I read the notes and changed the second line.", wordMs: 60),
        ]
    )

    static let failingCommand = DemoScript(
        steps: [
            .pause(ms: 300), .say("Trying a command that fails.", wordMs: 50),
            .tools([
                .exec(
                    "echo oops >&2; exit 1",
                    meta: "print text → run exit 1",
                    output: "oops",
                    durationMs: 500,
                    updates: [(150, "oops\n")],
                    exitCode: 1
                )
            ]),
            .pause(ms: 400), .say("The command failed with exit code 1.", wordMs: 60),
        ]
    )

    static let parallelTools = DemoScript(
        steps: [
            .pause(ms: 300), .think("These do not depend on each other."),
            .tools([
                .exec(
                    "date -u +%Y; sleep 1; echo done",
                    meta: "run date → run sleep 1 → print text",
                    output: "2026\ndone",
                    durationMs: 1_400,
                    updates: [(60, "2026\n"), (1_000, "2026\ndone\n")]
                ),
                ToolCall(
                    name: "read",
                    arguments: ["path": "weather.txt"],
                    meta: "from weather.txt",
                    durationMs: 300,
                    output: "sunny 21C\n"
                ),
                ToolCall(
                    name: "web_search",
                    arguments: ["query": "sunset today"],
                    meta: "for \"sunset today\"",
                    durationMs: 800,
                    output: "1. Sunset at 20:41"
                ),
            ]),
            .pause(ms: 300), .say("All three are done.", wordMs: 60),
        ]
    )

    static let thinking = DemoScript(
        steps: [
            .pause(ms: 1_200), .think("First I consider the question."), .pause(ms: 1_200),
            .think(" Then I consider the answer."), .pause(ms: 1_200), .think(" It is 42."),
            .say("The answer is 42.", wordMs: 60),
        ]
    )

    static let silent = DemoScript(steps: [.pause(ms: 40), .silent])

    static let slowCount = DemoScript(
        steps: [
            .pause(ms: 500), .think("Counting slowly."),
            .say((1...30).map { "number \($0)," }.joined(separator: " "), wordMs: 300),
        ]
    )

    static let slowStory = DemoScript(
        steps: [.say((0..<40).map { "tick\($0)" }.joined(separator: " "), wordMs: 500)]
    )

    static let longTool = DemoScript(
        steps: [
            .say("This takes a while. ", wordMs: 30),
            .tools([
                .exec(
                    "sleep 15; echo slept",
                    meta: "run sleep 15 → print text",
                    output: "slept",
                    durationMs: 15_000,
                    updates: [(14_990, "slept")]
                )
            ]),
            .say("Slept fifteen seconds: slept", wordMs: 30),
        ]
    )

    /// Bounded, because transcripts are kept in memory.
    static let longTextLimit = 200_000

    static func longText(_ words: [String]) -> DemoScript {
        let wanted = words.compactMap { Int($0) }.first ?? 20_000
        let size = min(max(wanted, 1), longTextLimit)
        var text = ""
        text.reserveCapacity(size + 16)
        var line = 1
        while text.utf8.count < size {
            text += "Line \(line) of a long text.\n"
            line += 1
        }
        return DemoScript(steps: [.pause(ms: 300), .say(String(text.prefix(size)), wordMs: 1)])
    }

    static func burst(_ words: [String]) -> DemoScript {
        let count = words.count > 1 ? Int(words[1]) ?? 1_000 : 1_000
        let rate = words.count > 2 ? Int(words[2]) ?? 1_000 : 1_000
        let stream = words.count > 3 ? BurstStream(rawValue: words[3]) ?? .both : .both
        return DemoScript(
            steps: [
                .burst(count: min(max(count, 1), 10_000_000), perSecond: min(max(rate, 1), 1_000_000), stream: stream),
                .say("Burst over.", wordMs: 0),
            ]
        )
    }
}
