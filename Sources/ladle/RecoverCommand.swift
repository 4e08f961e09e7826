import Commands
import Configuration
import JSONBytes
import Outbox
import Store

/// `ladle outbox recover`: lists the entries of a damaged database that was set aside; restores or discards them.
enum RecoverCommand {
    static func run(
        _ command: ParsedCommand,
        _ settings: Settings,
        places: SettingsPlaces
    ) async throws(CommandFailure) -> ExitCode {
        guard let state = command["--state"].map(places.expanded) ?? places.stateDirectory(settings) else {
            throw usage("there is no home directory; name the state directory with --state", command)
        }
        guard !(command.has("--restore") && command.has("--discard")) else {
            throw usage("--restore and --discard exclude each other", command)
        }
        // The demo keeps its database in a directory of its own.
        let found = [state, state + "/demo"].lazy.compactMap { folder in
            StateStore.inspectSetAside(in: folder).map { (folder, $0) }
        }.first
        guard let (folder, inspected) = found else {
            Console.say(Program.json(command) ? "{}" : "nothing is set aside in \(state)")
            return .ok
        }
        var report = inspected
        if command.has("--restore") || command.has("--discard") {
            report = try await settle(folder, settings, restoring: command.has("--restore")) ?? report
        }
        Console.say(Program.json(command) ? json(report) : text(report, command))
        return .ok
    }

    private static func settle(
        _ folder: String,
        _ settings: Settings,
        restoring: Bool
    ) async throws(CommandFailure) -> RecoveryReport? {
        do {
            let directory = try StateDirectory.open(folder)
            let (store, _) = try directory.openStore(settings)
            let report = try await store.recover(restoring: restoring)
            await store.close()
            directory.release()
            return report
        } catch let failure as StartFailure {
            throw CommandFailure(failure.status, "STATE_IN_USE", "\(failure.message); stop ladle serve first")
        } catch {
            throw CommandFailure(.internal, "NOT_RECOVERED", "\(error)")
        }
    }

    private static func usage(_ text: String, _ command: ParsedCommand) -> CommandFailure {
        CommandFailure(UsageError(text, command: command.path))
    }

    private static func json(_ report: RecoveryReport) -> String {
        var writer = JSONWriter()
        writer.object { object in
            object.member("path", report.path)
            object.member("reason", report.reason)
            object.member("unreadable", report.unreadable)
            object.array("entries", of: report.entries)
            object.array("restored", of: report.restored)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func text(_ report: RecoveryReport, _ command: ParsedCommand) -> String {
        var lines = ["set aside   \(report.path)", "because     \(report.reason)"]
        if let unreadable = report.unreadable { lines.append("unreadable  \(unreadable)") }
        lines.append("waiting     \(report.entries.count) entries that can be read")
        for entry in report.entries {
            let words = (entry.text ?? "").prefix(60).split(whereSeparator: \.isNewline).joined(separator: " ")
            lines.append("  \(entry.id)  \(entry.state.rawValue)  \(entry.session)  \(words)")
        }
        if command.has("--restore") {
            lines.append("\(report.restored.count) are in the outbox again; ladle serve sends them")
        } else if command.has("--discard") {
            lines.append("given up; the files stay where they are")
        } else {
            lines += [
                "",
                "The files are never changed. Until this is settled sends are refused and everything else goes on.",
                "Was it written by a newer Ladle? Install that again and move the files back.",
                "Otherwise stop ladle serve and choose:",
                "  ladle outbox recover --restore   takes the entries above back into the outbox",
                "  ladle outbox recover --discard   gives them up",
            ]
        }
        return lines.joined(separator: "\n")
    }
}
