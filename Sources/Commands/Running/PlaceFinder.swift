import Configuration
import HTTPModel

/// Decides which Ladle a command talks to. A command-line option comes first, then the environment, then the context in
/// use, and last the control socket of this host.
struct PlaceFinder {
    let command: ParsedCommand
    let io: any CommandIO

    private var places: SettingsPlaces { SettingsPlaces(environment: io.environment) }

    func place() throws(CommandFailure) -> ServerPlace {
        var place = try address()
        if let path = command["--token-file"] ?? environment("LADLE_CLIENT_TOKEN_FILE") {
            place.token = try token(in: path)
        }
        if let pin = try pin() { place.pin = pin }
        return place
    }

    /// The address for other programs on this machine.
    /// - Parameter listeners: those of the server that answers on its control socket.
    func publicAddress(listeners: [String]) throws(CommandFailure) -> String {
        if case .tcp(let address) = try address().address { return address.description }
        let first = listeners.first { $0.contains(":") && !["unix:", "fd:", "tailnet:"].contains(where: $0.hasPrefix) }
        return "http://\(first ?? "127.0.0.1:18780")"
    }

    private func address() throws(CommandFailure) -> ServerPlace {
        let options = ["--socket", "--state", "--url", "--context"].filter(command.has)
        guard options.count < 2 else {
            throw usage("\(options[0]) and \(options[1]) exclude each other: each says where Ladle is")
        }
        if let path = command["--socket"] { return socket(path) }
        if let folder = command["--state"] { return socket(folder + "/ladle.sock") }
        if let text = command["--url"] { return try url(text, "--url") }
        if let name = command["--context"] { return try context(name) }
        if let path = environment("LADLE_SOCKET") { return socket(path) }
        if let text = environment("LADLE_URL") { return try url(text, "LADLE_URL") }
        if let name = environment("LADLE_CONTEXT") { return try context(name) }
        if let name = try contexts().current { return try context(name) }
        return try controlSocket()
    }

    /// The warning for a person whose token goes to a named URL in cleartext. `ladle context add` warns of contexts.
    var cleartextWarning: String? {
        guard (command["--token-file"] ?? environment("LADLE_CLIENT_TOKEN_FILE")) != nil,
            !["--socket", "--state", "--context"].contains(where: command.has)
        else { return nil }
        return (command["--url"] ?? environment("LADLE_URL")).flatMap { WebAddress($0)?.tokenWarning }
    }

    private func environment(_ name: String) -> String? { io.environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    private func socket(_ path: String) -> ServerPlace { ServerPlace(.unix(path: places.expanded(path))) }

    private func url(_ text: String, _ origin: String) throws(CommandFailure) -> ServerPlace {
        ServerPlace(.tcp(try webAddress(text, origin)))
    }

    func webAddress(_ text: String, _ origin: String) throws(CommandFailure) -> WebAddress {
        guard let address = WebAddress(text) else {
            throw usage("\(origin) is no URL: \"\(text)\"", hint: "write it like http://HOST:18780 or https://HOST")
        }
        return address
    }

    func pin() throws(CommandFailure) -> [UInt8]? {
        guard let text = command["--pin"] else { return nil }
        guard let pin = ServerPlace.pin(text) else {
            throw usage("--pin must be a SHA-256: 64 hexadecimal digits", hint: "ladle serve prints it at the start")
        }
        return pin
    }

    /// The control socket in the configured state directory. `ladle config check` reports errors of the configuration.
    private func controlSocket() throws(CommandFailure) -> ServerPlace {
        var sources = SettingsSources()
        sources.environment = io.environment.filter { $0.key == "LADLE_STATE" }
        if let path = places.configFile, let bytes = try? io.readFile(path, limit: JSON5Text.maximumBytes) {
            sources.file = SettingsSources.File(path: path, bytes: bytes)
        }
        guard let folder = places.stateDirectory(sources.resolved().settings) else {
            throw CommandFailure(
                .usage,
                "NO_STATE",
                "there is no home directory to look for the control socket in",
                hint: "name it with --socket PATH"
            )
        }
        return socket(folder + "/ladle.sock")
    }

    // MARK: Tokens

    /// Tokens have 53 characters.
    private static let longestToken = 4096

    func token(
        in path: String,
        hint: String = "on the host of Ladle: ladle token create"
    ) throws(CommandFailure) -> String {
        let bytes: [UInt8]
        if path == "-" {
            bytes = io.readInput(limit: Self.longestToken) ?? []
        } else {
            do throws(FileFault) {
                bytes = try io.readPrivateFile(places.expanded(path), limit: Self.longestToken)
            } catch {
                throw CommandFailure(error)
            }
        }
        let token = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw usage("there is no token in \(path)", hint: hint)
        }
        return token
    }

    // MARK: Contexts

    private func context(_ name: String) throws(CommandFailure) -> ServerPlace {
        if name == ContextFile.local { return try controlSocket() }
        guard let context = try contexts()[name] else {
            throw usage(
                "there is no context \(name)",
                hint: "ladle context list    (ladle context use local leaves it)"
            )
        }
        return context.place
    }

    /// The contexts; none if the file does not exist.
    func contexts() throws(CommandFailure) -> ContextFile {
        guard let path = contextsPath else { return ContextFile() }
        let bytes: [UInt8]
        do throws(FileFault) {
            bytes = try io.readPrivateFile(path, limit: ContextFile.maximumBytes)
        } catch {
            if error.message.hasSuffix("does not exist") { return ContextFile() }
            throw CommandFailure(error)
        }
        guard let file = ContextFile(parsing: bytes) else {
            throw CommandFailure(.configuration, "CONTEXTS", "\(path) is damaged", hint: "mv -i \(path) \(path).old")
        }
        return file
    }

    func save(_ contexts: ContextFile) throws(CommandFailure) {
        guard let path = contextsPath else {
            throw CommandFailure(.usage, "NO_HOME", "there is no home directory to keep contexts in")
        }
        do throws(FileFault) {
            try io.replacePrivateFile(path, with: contexts.bytes)
        } catch {
            throw CommandFailure(error)
        }
    }

    private var contextsPath: String? { places.configDirectory.map { $0 + "/contexts.json" } }

    private func usage(_ message: String, hint: String? = nil) -> CommandFailure {
        CommandFailure(UsageError(message, hint: hint, command: command.path))
    }
}
