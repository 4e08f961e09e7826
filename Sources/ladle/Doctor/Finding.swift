import Commands
import JSONBytes

/// One thing the doctor looked at: fine, or what is wrong and the command that mends it.
struct Finding: JSONWritable {
    let check: String
    let detail: String
    let hint: String?
    /// What the whole command ends with when this is the first thing that is wrong.
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

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("check", check)
            object.member("ok", isFine)
            object.member("detail", detail)
            object.member("hint", hint)
        }
    }
}
