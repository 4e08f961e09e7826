import Labels

/// Messages that make the gateway abort the run at work instead of starting a run.
package enum StopWords {
    package static func matches(_ text: String) -> Bool {
        guard text.utf8.count <= 256 else { return false }
        var words = LabelText.collapsed(text).lowercased()
        while let last = words.last, ending.contains(last) || last.isWhitespace { words.removeLast() }
        if words.hasPrefix("/stop") { return words == "/stop" || words.hasPrefix("/stop@") || words == "/stop:" }
        return phrases.contains(String(words.map { $0 == "’" || $0 == "`" ? "'" : $0 }))
    }

    private static let ending: Set<Character> = [
        ".", "!", "?", ",", ";", ":", "…", "。", "！", "？", "，", "、", "।", "؟", ")", "]", "}", "\"", "'", "’", "”",
    ]

    private static let phrases: Set<String> = [
        "stop", "esc", "escape", "abort", "wait", "exit", "interrupt", "halt", "please stop", "stop please",
        "do not do that",
        "stop openclaw", "openclaw stop", "stop action", "stop current action", "stop run", "stop current run",
        "stop agent",
        "stop the agent", "stop don't do anything", "stop dont do anything", "stop do not do anything",
        "stop doing anything",
        // Spanish, French, German, Portuguese, Italian
        "detente", "deten", "detén", "para", "arrete", "arrête", "anhalten", "aufhören", "aufhoeren", "hoer auf",
        "hör auf",
        "stopp", "pare", "ferma", "fermati",
        // Russian, Japanese, Chinese, Hindi, Arabic
        "стоп", "остановись", "останови", "остановить", "прекрати", "やめて", "止めて", "停止", "रुको", "توقف",
    ]
}
