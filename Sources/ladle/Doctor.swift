import Basics
import Commands
import Configuration
import Discovery
import EventLoops
import JSONBytes

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// `ladle doctor`: looks at everything that commonly goes wrong and prints, for each, the one command that mends it.
struct Doctor {
    private struct Finding: JSONWritable {
        let check: String
        let isFine: Bool
        let detail: String
        var hint: String?

        func write(to writer: inout JSONWriter) {
            writer.object { object in
                object.member("check", check)
                object.member("ok", isFine)
                object.member("detail", detail)
                object.member("hint", hint)
            }
        }
    }

    /// Below this a burst of events or one large message fills the disk.
    private static let leastFreeBytes: UInt64 = 200 << 20

    let settings: Settings
    let problems: [ConfigurationProblem]
    let places: SettingsPlaces
    let json: Bool

    func run() async -> ExitStatus {
        var findings: [Finding] = []
        findings += configuration()
        findings += stateDirectory()
        let status = daemonStatus()
        findings += daemon(status)
        findings += listeners(isServing: status != nil)
        report(findings)
        return findings.allSatisfy(\.isFine) ? .ok : .failure
    }

    private func configuration() -> [Finding] {
        var list = problems.map {
            Finding(check: "configuration", isFine: false, detail: "\($0.origin): \($0.message)", hint: $0.hint)
        }
        if list.isEmpty { list.append(Finding(check: "configuration", isFine: true, detail: "every value is valid")) }
        for (key, path) in settings.secretFiles {
            if let fault = Program.secretFault(path) {
                list.append(Finding(check: key.name, isFine: false, detail: fault.message, hint: fault.hint))
            }
        }
        return list
    }

    private func stateDirectory() -> [Finding] {
        guard let path = places.stateDirectory(settings) else {
            return [
                Finding(
                    check: "state",
                    isFine: false,
                    detail: "there is no home directory",
                    hint: "ladle serve --state DIR"
                )
            ]
        }
        guard SystemPath.exists(path) else {
            return [Finding(check: "state", isFine: true, detail: "\(path) will be made at the first start")]
        }
        var list: [Finding] = []
        if unsafe access(path, W_OK) != 0 {
            list.append(
                Finding(
                    check: "state",
                    isFine: false,
                    detail: "\(path) cannot be written",
                    hint: "chown \"$(id -u)\" \(path)"
                )
            )
        }
        var disk = statvfs()
        if unsafe statvfs(path, &disk) == 0 {
            let free = UInt64(disk.f_bavail) * UInt64(disk.f_frsize)
            let text = "\(free >> 20) MiB free at \(path)"
            list.append(
                free >= Self.leastFreeBytes
                    ? Finding(check: "disk", isFine: true, detail: text)
                    : Finding(check: "disk", isFine: false, detail: text, hint: "df -h \(path)")
            )
        }
        return list
    }

    private func daemonStatus() -> JSONValue? {
        guard let path = places.stateDirectory(settings) else { return nil }
        return DaemonProbe.status(socket: path + "/ladle.sock", version: Version.text)
    }

    private func daemon(_ status: JSONValue?) -> [Finding] {
        guard let status else {
            let socket = (places.stateDirectory(settings) ?? "") + "/ladle.sock"
            let isStale = SystemPath.exists(socket)
            return [
                Finding(
                    check: "daemon",
                    isFine: false,
                    detail: isStale ? "\(socket) is left over; nobody answers on it" : "ladle serve is not running",
                    hint: "ladle serve"
                )
            ]
        }
        var list = [
            Finding(check: "daemon", isFine: true, detail: "ladle \(status["version"]?.string ?? "") is serving")
        ]
        let link = status["link"]
        let state = link?["state"]?.string ?? "unknown"
        let code = link?["code"]?.string.map { " (\($0))" } ?? ""
        list.append(
            Finding(
                check: "link",
                isFine: state == "online",
                detail: "\(state)\(code): \(link?["detail"]?.string ?? "")",
                hint: link?["hint"]?.string
            )
        )
        let scopes = link?["scopes"]?.elements.compactMap(\.string) ?? []
        if state == "online", !scopes.contains("operator.write"), !scopes.contains("operator.admin") {
            list.append(
                Finding(
                    check: "scopes",
                    isFine: false,
                    detail:
                        "the gateway grants \(scopes.isEmpty ? "nothing" : scopes.joined(separator: ", ")); sends will be refused",
                    hint: "openclaw devices list, then openclaw devices approve REQUEST-ID"
                )
            )
        }
        let stuck = (status["outbox"]?["failed"]?.int ?? 0) + (status["outbox"]?["unconfirmed"]?.int ?? 0)
        if stuck > 0 {
            list.append(
                Finding(
                    check: "outbox",
                    isFine: false,
                    detail: "\(stuck) entries wait for a decision",
                    hint: "ladle outbox list"
                )
            )
        }
        return list
    }

    private func listeners(isServing: Bool) -> [Finding] {
        let exposure = Exposure(settings)
        var list: [Finding] = []
        if let state = places.stateDirectory(settings) {
            let control = ListenAddress.control(in: state).address
            list.append(Finding(check: "exposure", isFine: true, detail: exposure.line(control)))
        }
        if let path = settings.text(.accessTailnetServe) {
            list.append(Finding(check: "exposure", isFine: true, detail: exposure.line(.unix(path: path))))
        }
        for text in settings.list(.listen) {
            var surroundings = ListenAddress.Surroundings()
            surroundings.isProtected = settings.bool(.insecureLAN) || settings.text(.tlsCert) != nil
            surroundings.tailnet = { NetworkInterface.tailnetAddresses(NetworkInterface.all()) }
            do {
                let doors = try ListenAddress.parse(text, surroundings)
                for door in doors {
                    list.append(Finding(check: "exposure", isFine: true, detail: exposure.line(door.address)))
                    if case .ip(let address, port: _) = door.address, !address.isLoopback, !address.isTailnet,
                        settings.text(.tlsCert) == nil
                    {
                        list.append(
                            Finding(
                                check: "listen",
                                isFine: false,
                                detail: "\(door.address) is open to the network without TLS",
                                hint: "ladle tls self-signed, then --tls-cert and --tls-key"
                            )
                        )
                    }
                    guard !isServing, case .ip = door.address else { continue }
                    do {
                        _ = try Socket.listen(on: door.address)
                        list.append(Finding(check: "listen", isFine: true, detail: "\(door.address) is free"))
                    } catch {
                        list.append(
                            Finding(
                                check: "listen",
                                isFine: false,
                                detail: "\(error)",
                                hint: "ladle serve --listen 127.0.0.1:0"
                            )
                        )
                    }
                }
            } catch {
                list.append(Finding(check: "listen", isFine: false, detail: "\(error)"))
            }
        }
        return list
    }

    private func report(_ findings: [Finding]) {
        if json {
            var writer = JSONWriter()
            writer.object { object in
                object.member("ok", findings.allSatisfy(\.isFine))
                object.array("checks", of: findings)
            }
            return Console.say(String(decoding: writer.bytes, as: UTF8.self))
        }
        for finding in findings {
            Console.say("\(finding.isFine ? "ok  " : "FIX ") \(finding.check): \(finding.detail)")
            if let hint = finding.hint, !finding.isFine { Console.say("     run: \(hint)") }
        }
    }
}
