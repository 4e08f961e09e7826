import Access
import Basics
import Commands
import Configuration
import JSONBytes
import TLS

/// `ladle tls self-signed`: files for `tls.cert` and `tls.key`, and the fingerprint that clients pin.
enum SelfSignedCommand {
    static func run(
        _ command: ParsedCommand,
        _ settings: Settings,
        places: SettingsPlaces
    ) throws(CommandFailure) -> ExitCode {
        let folder = places.stateDirectory(settings)
        guard let certificate = command["--cert"] ?? folder.map({ $0 + "/tls-cert.pem" }),
            let key = command["--key"] ?? folder.map({ $0 + "/tls-key.pem" })
        else {
            throw CommandFailure(
                UsageError("there is no home directory; name the files with --cert and --key", command: command.path)
            )
        }
        guard let days = Int(command["--days"] ?? "365"), (1...3650).contains(days) else {
            throw CommandFailure(UsageError("--days takes 1 to 3650", command: command.path))
        }
        let names = command.all("--host").isEmpty ? ["localhost"] : command.all("--host")
        let pin: String
        do throws(StartFailure) {
            pin = try SelfSignedFiles.write(certificate: certificate, key: key, names: names, days: days)
        } catch {
            throw CommandFailure(error.status, "NOT_WRITTEN", error.message)
        }
        if Program.json(command) {
            Program.say { writer in
                writer.object { object in
                    object.member("certificate", certificate)
                    object.member("key", key)
                    object.member("sha256", pin)
                }
            }
        } else {
            Console.say("certificate  \(certificate)\nkey          \(key)\nsha256 pin   \(pin)")
            Console.say("serve with   ladle serve --tls-cert \(certificate) --tls-key \(key)")
        }
        return .ok
    }
}

/// Makes a key and a certificate that clients trust by its fingerprint.
enum SelfSignedFiles {
    /// Never replaces an existing file. Both files have mode 0600.
    /// - Returns: the SHA-256 fingerprint to give to clients.
    static func write(
        certificate: String,
        key: String,
        names: [String],
        days: Int = 365
    ) throws(StartFailure) -> String {
        let made: SelfSignedCertificate
        do throws(TLSError) {
            made = try SelfSignedCertificate.make(names: names, validDays: days)
        } catch {
            throw StartFailure(message: "\(error)", status: .usage)
        }
        do throws(SecretFile.Fault) {
            try SecretFile.create(key, Secret(String(decoding: made.keyPEM, as: UTF8.self)))
            try SecretFile.create(certificate, Secret(String(decoding: made.certificatePEM, as: UTF8.self)))
        } catch {
            throw StartFailure(message: error.description, status: .noPermission)
        }
        return Hex.encode(made.pin)
    }
}
