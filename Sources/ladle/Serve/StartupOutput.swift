import Configuration
import Observability
import POSIX

/// The output of `ladle serve`. On a terminal its first lines are plain text; the journal and JSON readers get them as
/// log lines.
struct StartupOutput: Sendable {
    let log: Log
    private let isForPeople: Bool

    init(_ settings: Settings) {
        let format = settings.text(.logFormat) ?? "auto"
        let isJournal = format == "journal" || (format != "text" && Self.standardErrorIsTheJournal)
        let style = LogStyle(json: format == "json", journal: isJournal)
        log = Log(sink: .standardError(style: style), style: style, level: Self.level(settings))
        isForPeople = style == LogStyle()
    }

    static func level(_ settings: Settings) -> LogLevel {
        settings.text(.logLevel).flatMap(LogLevel.init(name:)) ?? .info
    }

    func say(_ event: String, _ text: String) {
        if isForPeople { Console.say("ladle: \(text)") } else { log.notice(event, ["text": .string(text)]) }
    }

    /// A command to try; printed only on a terminal.
    func suggest(_ command: String) {
        if isForPeople { Console.say("ladle: try  \(command)") }
    }

    /// The reason why the process ends by itself.
    func complain(_ text: String) {
        if isForPeople { return Console.warn(text) }
        log.error("serve.failed", ["text": .string(text)])
        log.flush()
    }

    /// `JOURNAL_STREAM` names the journal's stream. Programs inherit it even if their output goes elsewhere, so it is
    /// compared with standard error.
    private static var standardErrorIsTheJournal: Bool {
        guard let stream = Program.environment["JOURNAL_STREAM"] else { return false }
        return stream == StandardStream.error.facts?.identity
    }
}
