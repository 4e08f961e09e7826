import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let context = CommandSpec("context", "Names for Ladles on other hosts").with {
        let name = ArgumentSpec("name", "Name of the context", values: .listed(.contexts))
        $0.usual = "list"
        $0.subcommands = [
            CommandSpec("list", "List contexts").with {
                $0.run = ContextCommands.list
                $0.options = [.json]
            },
            CommandSpec("add", "Add or replace a context, and use it").with {
                $0.run = ContextCommands.add
                $0.arguments = [
                    name, ArgumentSpec("url", "Where Ladle is, such as https://ladle.example, or a link of ladle pair"),
                ]
                $0.options = [.json, .tokenFile, .pin]
                $0.examples = [
                    "ladle context add home http://100.64.0.7:18780 --token-file token",
                    "ladle context add home LINK",
                ]
            },
            CommandSpec("use", "Let the commands talk to this one; local is this host").with {
                $0.run = ContextCommands.use
                $0.arguments = [name]
                $0.options = [.json]
            },
            CommandSpec("remove", "Forget a context").with {
                $0.run = ContextCommands.remove
                $0.arguments = [name]
                $0.options = [.json]
            },
        ]
    }
}

/// `ladle context`: names for Ladles on other machines.
enum ContextCommands {
    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let file = try invocation.finder.contexts()
        let current = file.current ?? ContextFile.local
        if invocation.json {
            var writer = JSONWriter()
            writer.object { object in
                object.member("current", current)
                object.array("contexts") { list in
                    for context in file.contexts {
                        list.object { entry in
                            entry.member("name", context.name)
                            entry.member("url", context.address.description)
                            entry.member("token", context.token != nil)
                        }
                    }
                }
            }
            invocation.print(String(decoding: writer.bytes, as: UTF8.self))
            return .ok
        }
        var table = TextTable("NAME", "URL", "TOKEN", "")
        table.add(
            ContextFile.local,
            "the control socket of this host",
            "",
            current == ContextFile.local ? "in use" : ""
        )
        for context in file.contexts {
            let token = context.token == nil ? "none" : "kept"
            table.add(context.name, context.address.description, token, current == context.name ? "in use" : "")
        }
        invocation.print(table.text(width: invocation.io.tableWidth, style: invocation.style))
        return .ok
    }

    static func add(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let finder = invocation.finder
        let (name, url) = (invocation.command.arguments[0], invocation.command.arguments[1])
        guard ContextFile.isName(name) else {
            throw CommandFailure(
                UsageError(
                    "\"\(name)\" cannot name a context",
                    hint: "a name has letters, digits, dots and dashes; \(ContextFile.local) is this host",
                    command: invocation.command.path
                )
            )
        }
        // Checked before the link is used, because it works only once.
        var file = try finder.contexts()
        if url.lowercased().hasPrefix(PairingLink.scheme) {
            let context = try pair(name, url, invocation)
            warn(of: context, invocation)
            file.set(context)
            file.use(name)
            try finder.save(file)
            return done("Paired. Commands now talk to \(context.address) (\(name)).", name, invocation)
        }
        var context = ContextFile.Context(name: name, address: try finder.webAddress(url, "URL"))
        if let path = invocation.command["--token-file"] { context.token = try finder.token(in: path) }
        context.pin = try finder.pin()
        warn(of: context, invocation)
        file.set(context)
        file.use(name)
        try finder.save(file)
        return done("Commands now talk to \(context.address) (\(name)).", name, invocation)
    }

    private static func warn(of context: ContextFile.Context, _ invocation: Invocation) {
        guard context.token != nil, let warning = context.address.tokenWarning else { return }
        invocation.io.writeError(invocation.io.errorStyle.warning(warning + "\n"))
    }

    /// Fetches the token of an invitation from the first reachable address.
    private static func pair(
        _ name: String,
        _ text: String,
        _ invocation: Invocation
    ) throws(CommandFailure) -> ContextFile.Context {
        guard let link = PairingLink(text), !["--token-file", "--pin"].contains(where: invocation.command.has) else {
            throw CommandFailure(
                UsageError(
                    "that is no link of ladle pair, or something stands beside it",
                    hint: "put the whole link in quotes; token and certificate are in it",
                    command: invocation.command.path
                )
            )
        }
        let request = ClientRequest(.post, "/v1/pairing").json { $0.member("secret", link.secret) }
        var failure = ClientError.closed
        for address in link.addresses {
            let place = ServerPlace(.tcp(address), pin: link.pin)
            let client = HTTPClient(place, io: invocation.io, version: invocation.services.version)
            let response: ClientResponse
            do throws(ClientError) {
                response = try client.perform(request)
            } catch {
                failure = error
                continue
            }
            guard response.head.status.isSuccess else { throw CommandFailure(response) }
            guard let token = (try? response.json())?["token"]?.string else {
                throw CommandFailure(.badAnswer("it names no token"))
            }
            return ContextFile.Context(name: name, address: address, token: token, pin: link.pin)
        }
        throw CommandFailure(failure)
    }

    static func use(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        var file = try invocation.finder.contexts()
        let name = try known(invocation, in: file, orLocal: true)
        file.use(name)
        try invocation.finder.save(file)
        let place = file[name].map { "\($0.address)" } ?? "the control socket of this host"
        return done("Commands now talk to \(place).", name, invocation)
    }

    static func remove(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        var file = try invocation.finder.contexts()
        let name = try known(invocation, in: file, orLocal: false)
        let wasCurrent = file.current == name
        file.remove(name)
        try invocation.finder.save(file)
        return done("Removed." + (wasCurrent ? " Commands now talk to this host." : ""), name, invocation)
    }

    private static func known(
        _ invocation: Invocation,
        in file: ContextFile,
        orLocal: Bool
    ) throws(CommandFailure) -> String {
        let name = invocation.command.arguments[0]
        if file[name] != nil || orLocal && name == ContextFile.local { return name }
        throw CommandFailure(
            UsageError("there is no context \(name)", hint: "ladle context list", command: invocation.command.path)
        )
    }

    private static func done(_ text: String, _ name: String, _ invocation: Invocation) -> ExitCode {
        if invocation.json {
            var writer = JSONWriter()
            writer.object { $0.member("name", name) }
            invocation.print(String(decoding: writer.bytes, as: UTF8.self))
        } else {
            invocation.print(text)
        }
        return .ok
    }
}
