import Basics
import Commands
import Configuration
import JSONBytes
import POSIX
import Store

/// `ladle migrate FROM TO`: the state from a file to a server, or back.
enum MigrateCommand {
    static func run(
        _ command: ParsedCommand,
        _ settings: Settings,
        places: SettingsPlaces
    ) throws(CommandFailure) -> ExitCode {
        let (from, to) = (command.arguments[0], command.arguments[1])
        let isThere = DatabaseURL(to) != nil
        guard isThere != (DatabaseURL(from) != nil) else {
            throw CommandFailure(
                .usage,
                "MIGRATE",
                "one of the two is a state directory, the other a URL postgresql://…",
                hint: "ladle migrate DIR postgresql://USER@HOST/NAME"
            )
        }
        guard DatabaseURL(isThere ? to : from)?.hasPassword == false else {
            throw CommandFailure(
                .usage,
                "MIGRATE",
                "a password does not belong into a URL",
                hint: "write it into a file, and name that with --database-password-file"
            )
        }
        let (url, folder) = isThere ? (to, places.expanded(from)) : (from, places.expanded(to))
        guard !isThere || FileSystem.mayExist(folder + "/ladle.db") else {
            throw CommandFailure(
                .usage,
                "NO_STATE",
                "there is no database in \(folder)",
                hint: "name the directory that has ladle.db"
            )
        }
        let database: DatabaseConfiguration
        do throws(StartFailure) {
            database = try DatabaseConfiguration.read(url, settings)
        } catch {
            throw CommandFailure(error.status, "DATABASE", error.message)
        }
        let directory = try StateDirectory.take(folder)
        defer { directory.release() }
        let move = ServerMove(directory.storeConfiguration(settings), database.settings())
        do {
            if isThere {
                let (report, kept) = try move.toServer()
                say(
                    report,
                    command,
                    "The file is now \(kept). To serve: ladle serve --database \(Printable.argument(url))"
                )
            } else {
                let report = try move.toFile()
                say(
                    report,
                    command,
                    "No Ladle uses the server's tables any more. To serve: ladle serve --state \(Printable.argument(folder))"
                )
            }
            return .ok
        } catch {
            throw failure(error, url)
        }
    }

    private static func failure(_ error: any Error, _ url: String) -> CommandFailure {
        let title = "nothing was moved"
        if let fault = error as? ServerFault {
            let failure = DatabaseConfiguration.failure(fault, url: url)
            return CommandFailure(failure.status, "NOT_MOVED", title, detail: failure.message)
        }
        return CommandFailure(.unavailable, "NOT_MOVED", title, detail: (error as? StoreError)?.detail ?? "\(error)")
    }

    private static func say(_ report: ServerMove.Report, _ command: ParsedCommand, _ next: String) {
        guard !Program.json(command) else {
            return Program.say { writer in
                writer.object { object in
                    object.object("rows") { rows in
                        for (table, count) in report.rows { rows.member(table, count) }
                    }
                    object.member("replaced", report.replaced)
                }
            }
        }
        for (table, count) in report.rows { Console.say("\(count) \(table)") }
        if report.replaced > 0 { Console.say("\(report.replaced) texts had the character U+0000, now U+FFFD") }
        Console.say("Both sides were read again, and are equal. \(next)")
    }
}
