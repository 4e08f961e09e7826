import Configuration
import Observability
import POSIX

/// How serving speaks: its first words go to the person who typed the command; the journal and machines get those as
/// log lines too, one an event like all that follows.
struct StartupOutput: Sendable {
    let log: Log
    private let isForPeople: Bool

    init(_ settings: Settings) {
        let format = settings.text(.logFormat) ?? "auto"
        let isJournal = format == "journal" || (format != "text" && Self.standardErrorIsTheJournal)
        let style = LogStyle(json: format == "json", journal: isJournal)
        let level = settings.text(.logLevel).flatMap(LogLevel.init(name:)) ?? .info
        log = Log(sink: .standardError(style: style), style: style, level: level)
        isForPeople = style == LogStyle()
    }

    func say(_ event: String, _ text: String) {
        if isForPeople { Console.say("ladle: \(text)") } else { log.notice(event, ["text": .string(text)]) }
    }

    /// A command to try: of use only to someone at a terminal.
    func suggest(_ command: String) {
        if isForPeople { Console.say("ladle: try  \(command)") }
    }

    /// The last words before an exit that is not asked for.
    func complain(_ text: String) {
        if isForPeople { return Console.warn(text) }
        log.error("serve.failed", ["text": .string(text)])
        log.flush()
    }

    /// `JOURNAL_STREAM` names the journal's stream. It is inherited by programs whose output goes elsewhere, so it is
    /// held against what standard error is.
    private static var standardErrorIsTheJournal: Bool {
        guard let stream = Program.environment["JOURNAL_STREAM"] else { return false }
        return stream == StandardStream.error.facts?.identity
    }
}
