import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let pair = client(
        "pair",
        "Show a QR code and a link that give one device a token",
        run: PairCommand.run,
        [],
        [
            OptionSpec("--name", "NAME", "Name of the token; phone by default"),
            OptionSpec("--scopes", "LIST", "Permissions; read,send by default"),
            OptionSpec("--session", "KEY", "Limit it to this session", repeats: true, values: .listed(.sessions)),
            OptionSpec("--paths", "LIST", "Only these paths of the API and what is below them"),
            OptionSpec("--expires", "DURATION", "When the token ends, such as 30d"),
            OptionSpec("--no-wait", nil, "Do not wait for the device"),
            OptionSpec(
                "--background",
                "COLOUR",
                "Background of the terminal, to draw without colours",
                values: .words(["dark", "light"])
            ),
        ]
    ).with { $0.examples = ["ladle pair", "ladle pair --name tablet --scopes read,send,approvals"] }
}

/// `ladle pair`: shows a picture, a link and a code with which one device gets its token, and waits for it.
enum PairCommand {
    private static let pollMilliseconds = 1000
    /// Ctrl-C must not hang if the server does not answer.
    private static let cancelMilliseconds = 2000

    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let background = try background(invocation)
        let waits = !invocation.json && !invocation.command.has("--no-wait") && !invocation.command.has("--format")
        guard let made = try invocation.value(try request(invocation)) else { return .ok }
        let id = made["id"]?.string ?? ""
        if waits { try cancelOnInterrupt(id, invocation) }
        show(made, background, invocation)
        return waits ? try wait(for: id, invocation) : .ok
    }

    private static func request(_ invocation: Invocation) throws(CommandFailure) -> ClientRequest {
        let command = invocation.command
        // Without `--scopes` the server grants read and send.
        let scopes = command["--scopes"].map { $0.split(separator: ",").map { $0.filter { $0 != " " } } }
        let sessions = command.all("--session")
        let expires = try invocation.milliseconds("--expires")
        return ClientRequest(.post, "/v1/pairing/invitations").json { body in
            body.member("name", command["--name"] ?? "phone")
            if let scopes { body.array("scopes", of: scopes) }
            if !sessions.isEmpty { body.array("sessions", of: sessions) }
            // A list without a path is a mistake, which Ladle reports.
            if command["--paths"] != nil { body.array("paths", of: command.words("--paths")) }
            body.member("expiresInSeconds", expires.map { $0 / 1000 })
        }
    }

    /// Nil if the picture sets its own colours.
    private static func background(_ invocation: Invocation) throws(CommandFailure) -> QRPicture.Background? {
        guard let text = invocation.command["--background"] else {
            return invocation.style.isColoured ? nil : .dark
        }
        guard let background = QRPicture.Background(rawValue: text) else {
            throw CommandFailure(
                UsageError("--background must be dark or light, not \"\(text)\"", command: invocation.command.path)
            )
        }
        return background
    }

    // MARK: What is shown

    private static func show(_ made: JSONValue, _ background: QRPicture.Background?, _ invocation: Invocation) {
        let io = invocation.io
        let link = made["link"]?.string ?? ""
        let reach = made["reach"]?.string ?? ""
        if reach == "tailnet" || reach == "network" {
            if let code = QRCode(Array(link.utf8)) {
                if io.isOutputTerminal, io.columns < QRPicture.columns(of: code) {
                    io.writeError(
                        io.errorStyle.warning(
                            "The picture needs \(QRPicture.columns(of: code)) columns: make the window wider.\n"
                        )
                    )
                }
                invocation.print(QRPicture.lines(of: code, on: background).joined(separator: "\n") + "\n")
            }
        } else {
            let style = io.errorStyle
            io.writeError(
                style.warning("No phone reaches this Ladle: it listens on this host alone.\n")
                    + "  \(style.bold("→")) ladle serve --listen 127.0.0.1:18780 --listen tailnet\n"
            )
        }
        if !link.isEmpty { invocation.print("Link  \(Printable.line(link))") }
        invocation.print("Code  \(Printable.line(made["secret"]?.string ?? ""))")
        let name = Printable.line(made["name"]?.string ?? "")
        let until = invocation.time.short(made["expiresAt"]?.string)
        let grants = "scopes \(Printable.line(made["scopes"].words))\(TokenCommands.only(made["paths"]))"
        io.writeError("One device gets a token with it: \(name), \(grants), until \(until).\n")
        if reach == "network", link.contains("?tls=0") {
            io.writeError(io.errorStyle.warning("Without TLS others on the network can read the token along.\n"))
        }
    }

    // MARK: The wait

    private static func path(_ id: String) -> String { ClientRequest.path("v1", "pairing", "invitations", id) }

    private static func wait(for id: String, _ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        invocation.io.writeError(invocation.io.errorStyle.dim("Waiting for the device; Ctrl-C cancels.\n"))
        while true {
            let response = try invocation.perform(.get(path(id)))
            let state: JSONValue
            do throws(ClientError) {
                state = try response.json()
            } catch {
                throw CommandFailure(error)
            }
            switch state["state"]?.string {
            case "waiting": invocation.io.sleep(milliseconds: pollMilliseconds)
            case "used":
                let token = Printable.line(state["tokenId"]?.string ?? "")
                invocation.print(
                    "\(Printable.line(state["name"]?.string ?? "")) is paired, from "
                        + "\(Printable.line(state["usedFrom"]?.string ?? "?")). To take it back: ladle token revoke \(token)"
                )
                return .ok
            case let other:
                throw CommandFailure(
                    .temporary,
                    "NOT_PAIRED",
                    other == "cancelled" ? "the invitation was cancelled" : "no device came within five minutes",
                    hint: "ladle pair"
                )
            }
        }
    }

    private static func cancelOnInterrupt(_ id: String, _ invocation: Invocation) throws(CommandFailure) {
        let (place, version) = (try invocation.finder.place(), invocation.services.version)
        invocation.services.noteOnInterrupt {
            var request = ClientRequest(.delete, path(id))
            request.patienceMilliseconds = cancelMilliseconds
            let answer = try? HTTPClient(place, io: ProcessIO(), version: version).perform(request)
            switch answer?.status {
            case 204: return "\nCancelled: the link and the code are void.\n"
            case 409: return "\nToo late: a device has used it. Its token: ladle token list\n"
            default: return "\nNot cancelled: Ladle does not answer. It ends by itself within five minutes.\n"
            }
        }
    }
}
