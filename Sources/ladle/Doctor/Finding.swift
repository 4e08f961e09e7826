import Commands
import JSONBytes

/// The result of one check: fine, or a fault with the command that repairs it.
struct Finding: JSONWritable {
    let check: String
    let detail: String
    let hint: String?
    /// The exit code of the command if this is the first fault.
    let exit: ExitCode

    var isFine: Bool { exit == .ok }

    static func fine(_ check: String, _ detail: String) -> Finding {
        Finding(check: check, detail: detail, hint: nil, exit: .ok)
    }

    static func wrong(
        _ check: String,
        _ detail: String,
        _ hint: String?,
        _ exit: ExitCode = .unavailable
    ) -> Finding {
        Finding(check: check, detail: detail, hint: hint, exit: exit)
    }

    /// The finding with a hint that can be typed as it is printed, after this command line.
    func placed(as command: ParsedCommand) -> Finding {
        Finding(check: check, detail: detail, hint: hint.map { CommandHint.placed($0, as: command) }, exit: exit)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("check", check)
            object.member("ok", isFine)
            object.member("detail", detail)
            object.member("hint", hint)
        }
    }
}
