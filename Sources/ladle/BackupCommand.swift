import Basics
import Commands
import Configuration
import EventStream
import JSONBytes
import POSIX
import Store
import TLS

/// `ladle backup FILE` and `ladle restore FILE`: the state of this host in one file, and back.
enum BackupCommand {
    /// The device's identity, without which the device has to be approved at the gateway again, and the certificate that devices
    /// have pinned. The certificate of tailscaled is left out, because tailscaled can issue it again.
    private static let files = [SavedState.deviceKeyName, "device-tokens.json", TLSSettings.ownName]

    static func backup(
        _ command: ParsedCommand,
        _ settings: Settings,
        places: SettingsPlaces
    ) throws(CommandFailure) -> ExitCode {
        let path = try file(command, places)
        if settings.isSet(.databaseURL), !command.has("--demo") {
            throw CommandFailure(
                .usage,
                "NO_STATE",
                "the state is on a server (database.url)",
                hint: "pg_dump --schema=ladle writes a copy; see docs/database.md"
            )
        }
        let folder = try command.dataDirectory(settings, places)
        guard FileSystem.mayExist(folder + "/ladle.db") else {
            let isDemo = FileSystem.exists(folder + "/demo/ladle.db")
            let demo = isDemo ? "of the demo: ladle backup --demo \(Printable.argument(path)); or " : ""
            throw CommandFailure(
                .usage,
                "NO_STATE",
                "there is no database in \(folder)",
                hint: "\(demo)name the state with --state DIR"
            )
        }
        do throws(StoreError) {
            try StateBackup(path: path, files: files).make(of: folder)
        } catch {
            let hint = remedy(for: path, of: try command.stateDirectory(settings, places))
            throw failure("\(path) is not written", error, hint: hint)
        }
        report("written", path, command) { "\(path) has the state of \(folder). Keep it safe: it holds a key." }
        return .ok
    }

    /// Most often the place of the new file is wrong, and the state is well.
    static func remedy(for path: String, of state: String) -> String {
        let folder = FileSystem.folder(of: path)
        if FileSystem.exists(path) || FileSystem.linkTarget(path) != nil {
            return "name a file that does not exist yet"
        }
        guard FileSystem.mayExist(folder) else { return "mkdir -p \(Printable.argument(folder))" }
        guard (try? FileSystem.facts(folder).kind) != .regular else {
            return "name another folder: \(folder) is a file"
        }
        guard FileSystem.isWritableDirectory(folder) else {
            return "name a file in a folder of yours: \(folder) cannot be written"
        }
        return "ladle doctor --state \(Printable.argument(state))"
    }

    static func restore(
        _ command: ParsedCommand,
        _ settings: Settings,
        places: SettingsPlaces
    ) throws(CommandFailure) -> ExitCode {
        let path = try file(command, places)
        guard FileSystem.exists(path) else { throw CommandFailure(.usage, "FILE", "\(path) does not exist") }
        let state = try command.dataDirectory(settings, places)
        let earlier: String?
        let directory = try StateDirectory.take(state)
        defer { directory.release() }
        do {
            earlier = try StateBackup(path: path, files: files).restore(
                into: directory,
                epoch: EventEpoch.make(random: .random(in: 0 ... .max)),
                at: Timestamp(milliseconds: HostClock.wallMilliseconds)
            ) { name, bytes in
                name == SavedState.deviceKeyName && (try? Ed25519PrivateKey(pem: bytes)) == nil ? "holds no key" : nil
            }
        } catch {
            throw failure("\(path) is not restored", error, hint: "nothing was changed; name another backup")
        }
        report("restored", path, command) {
            """
            \(state) has the state of \(path) now.\(earlier.map { " The earlier state is in \($0)." } ?? "")
            Messages that wait in it may have been sent since. To decide about each: \
            \(CommandHint.placed("ladle serve --outbox-resume hold", as: command))
            Tokens that were revoked since are valid again. To look: \(CommandHint.placed("ladle token list", as: command))
            """
        }
        return .ok
    }

    private static func file(_ command: ParsedCommand, _ places: SettingsPlaces) throws(CommandFailure) -> String {
        guard !command.arguments[0].isEmpty else {
            throw CommandFailure(.usage, "FILE", "the name of the file is empty", hint: "ladle \(command.name) FILE")
        }
        return places.expanded(command.arguments[0])
    }

    private static func report(_ verb: String, _ path: String, _ command: ParsedCommand, _ text: () -> String) {
        guard Program.json(command) else { return Console.say(text()) }
        Program.say { writer in writer.object { $0.member(verb, path) } }
    }

    private static func failure(_ title: String, _ error: any Error, hint: String) -> CommandFailure {
        let detail = (error as? StoreError)?.detail ?? "\(error)"
        return CommandFailure(.unavailable, "BACKUP_FAILED", title, detail: detail, hint: hint)
    }
}
