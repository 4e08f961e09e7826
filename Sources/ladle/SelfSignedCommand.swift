import Commands
import Configuration
import JSONBytes

/// `ladle tls self-signed`: files for `tls.cert` and `tls.key`, and the fingerprint that clients pin.
enum SelfSignedCommand {
    static func run(_ command: ParsedCommand, places: SettingsPlaces) -> ExitStatus {
        guard let folder = places.stateDirectory(Settings()) else {
            Console.warn("there is no home directory; name the files with --cert and --key")
            return .usage
        }
        let certificate = command["--cert"] ?? folder + "/tls-cert.pem"
        let key = command["--key"] ?? folder + "/tls-key.pem"
        let names = command.all("--host").isEmpty ? ["localhost"] : command.all("--host")
        do {
            let pin = try SelfSignedFiles.write(certificate: certificate, key: key, names: names)
            if command.has("--json") {
                var writer = JSONWriter()
                writer.object { object in
                    object.member("certificate", certificate)
                    object.member("key", key)
                    object.member("sha256", pin)
                }
                Console.say(String(decoding: writer.bytes, as: UTF8.self))
            } else {
                Console.say("certificate  \(certificate)\nkey          \(key)\nsha256 pin   \(pin)")
                Console.say("serve with   ladle serve --tls-cert \(certificate) --tls-key \(key)")
            }
            return .ok
        } catch let failure as StartFailure {
            Console.warn(failure.message)
            return failure.status
        } catch {
            Console.warn("\(error)")
            return .failure
        }
    }
}
