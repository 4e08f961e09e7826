import Basics
import Commands
import Configuration
import JSONBytes
import Outbox
import POSIX
import Store

/// `ladle outbox recover`: lists the entries of a damaged database that was set aside; restores or discards them.
enum RecoverCommand {
    static func run(
        _ command: ParsedCommand,
        _ settings: Settings,
        places: SettingsPlaces
    ) async throws(CommandFailure) -> ExitCode {
        let state = try command.stateDirectory(settings, places)
        guard !(command.has("--restore") && command.has("--discard")) else {
            throw CommandFailure(UsageError("--restore and --discard exclude each other", command: command.path))
        }
        // The demo keeps its database in a directory of its own.
        let found = [state, state + "/demo"].lazy.compactMap { folder in
            StateStore.inspectSetAside(in: folder).map { (folder, $0) }
        }.first
        guard let (folder, inspected) = found else {
            try checkDatabase(in: state)
            Console.say(Program.json(command) ? "{}" : "nothing is set aside in \(state)")
            return .ok
        }
        var report = inspected
        if command.has("--restore") || command.has("--discard") {
            report = try await settle(folder, of: state, settings, restoring: command.has("--restore")) ?? report
        }
        Console.say(Program.json(command) ? json(report) : text(report, command))
        return .ok
    }

    private static func settle(
        _ folder: String,
        of state: String,
        _ settings: Settings,
        restoring: Bool
    ) async throws(CommandFailure) -> RecoveryReport? {
        let directory = try StateDirectory.take(folder)
        defer { directory.release() }
        do {
            let (store, _) = try directory.openStore(settings)
            let report = try await store.recover(restoring: restoring)
            await store.close()
            return report
        } catch {
            throw CommandFailure(
                .unavailable,
                "NOT_RECOVERED",
                "the messages are still set aside in \(folder)",
                detail: (error as? StoreError)?.detail ?? "\(error)",
                hint: "ladle doctor --state \(Printable.argument(state))"
            )
        }
    }

    /// Nothing set aside is good news only of a directory that has a database.
    private static func checkDatabase(in state: String) throws(CommandFailure) {
        let databases = [state, state + "/demo"].map { $0 + "/ladle.db" }
        guard !databases.contains(where: FileSystem.exists) else { return }
        guard !databases.contains(where: FileSystem.mayExist) else {
            throw CommandFailure(
                .noPermission,
                "STATE_UNUSABLE",
                "\(state) cannot be read",
                hint: "ladle doctor --state \(Printable.argument(state))"
            )
        }
        throw CommandFailure(
            .usage,
            "NO_STATE",
            "there is no database of Ladle in \(state)",
            hint: "name the state directory: ladle outbox recover --state DIR"
        )
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

    static func text(_ report: RecoveryReport, _ command: ParsedCommand) -> String {
        var lines = ["set aside   \(report.path)", "because     \(Printable.line(report.reason))"]
        if let unreadable = report.unreadable { lines.append("unreadable  \(Printable.line(unreadable))") }
        lines.append("waiting     \(report.entries.count) entries that can be read")
        for entry in report.entries {
            let line = "\(entry.id)  \(entry.state.rawValue)  \(entry.session)  \((entry.text ?? "").prefix(60))"
            lines.append("  \(Printable.line(line))")
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
                "  \(CommandHint.placed("ladle outbox recover --restore", as: command))   takes the entries above back into the outbox",
                "  \(CommandHint.placed("ladle outbox recover --discard", as: command))   gives them up",
            ]
        }
        return lines.joined(separator: "\n")
    }
}
