/// Scripts about IDENTITY.md and USER.md.
extension DemoScript {
    static func rename(_ message: String) -> DemoScript {
        let name = text(after: "call yourself ", in: message)?.prefix { $0 != "\n" && $0 != "." }.prefix(50)
        let chosen = name.flatMap { $0.isEmpty ? nil : String($0) } ?? "Wren"
        return DemoScript(
            steps: [
                .pause(ms: 300), .think("My name stands in IDENTITY.md."),
                .tools([
                    ToolCall(
                        name: "edit",
                        arguments: [
                            "path": "IDENTITY.md", "oldText": "- **Name:**", "newText": "- **Name:** \(chosen)",
                        ],
                        meta: "in IDENTITY.md (\(chosen.count + 12) chars)",
                        durationMs: 300,
                        output: "Successfully replaced text in IDENTITY.md.",
                        effect: .rename(agentTo: chosen)
                    )
                ]),
                .pause(ms: 200), .say("From now on I am \(chosen).", wordMs: 60),
            ]
        )
    }

    /// Answers a request for both files with one text in which marks separate them, and stores new texts given in that
    /// form.
    static func identityFrame(_ message: String, read: (String) -> String?) -> DemoScript {
        let identity = part(of: message, behind: "---IDENTITY---")
        let user = part(of: message, behind: "---USER---")
        var files: [String: String] = [:]
        for (name, text) in [("IDENTITY.md", identity), ("USER.md", user)] {
            // A request has a placeholder in brackets in place of the text.
            if let text, !text.isEmpty, !text.hasPrefix("("), !text.hasPrefix("<") { files[name] = text + "\n" }
        }
        var steps: [Step] = [.pause(ms: 200)]
        if !files.isEmpty {
            for (name, text) in files.sorted(by: { $0.key < $1.key }) {
                steps.append(
                    .tools([
                        ToolCall(
                            name: "write",
                            arguments: ["path": name, "content": text],
                            meta: "to \(name) (\(text.count) chars)",
                            durationMs: 200,
                            output: "Successfully wrote \(text.utf8.count) bytes to \(name)",
                            effect: .writeFiles([name: text])
                        )
                    ])
                )
            }
        }
        let shownIdentity = files["IDENTITY.md"] ?? read("IDENTITY.md") ?? ""
        let shownUser = files["USER.md"] ?? read("USER.md") ?? ""
        steps.append(.say("---IDENTITY---\n\(shownIdentity)\n---USER---\n\(shownUser)\n---END---", wordMs: 2))
        return DemoScript(steps: steps)
    }

    /// The lines between a mark and the next one.
    private static func part(of message: String, behind mark: String) -> String? {
        let lines = message.split(separator: "\n", omittingEmptySubsequences: false)
        func isLine(_ wanted: String...) -> (Substring) -> Bool {
            { line in wanted.contains(line.filter { $0 != " " && $0 != "\r" }) }
        }
        guard let first = lines.firstIndex(where: isLine(mark)) else { return nil }
        let rest = lines[(first + 1)...]
        let last = rest.firstIndex(where: isLine("---IDENTITY---", "---USER---", "---END---")) ?? rest.endIndex
        var body = Array(rest[..<last])
        while body.first?.allSatisfy(\.isWhitespace) == true { body.removeFirst() }
        while body.last?.allSatisfy(\.isWhitespace) == true { body.removeLast() }
        return body.joined(separator: "\n")
    }
}

/// The text after the first occurrence of an ASCII phrase, ignoring case.
private func text(after phrase: StaticString, in message: String) -> String? {
    let wanted = Array(phrase.description.utf8)
    let bytes = Array(message.utf8)
    guard bytes.count >= wanted.count else { return nil }
    for start in 0...(bytes.count - wanted.count) {
        let candidate = bytes[start..<start + wanted.count]
        if candidate.elementsEqual(wanted, by: { ($0 | ((0x41...0x5a).contains($0) ? 0x20 : 0)) == $1 }) {
            return String(decoding: bytes[(start + wanted.count)...], as: UTF8.self)
        }
    }
    return nil
}
