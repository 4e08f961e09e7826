import Access
import Basics
import Commands
import Configuration
import JSONBytes
import Notifications
import POSIX
import Service

/// The configuration of notifications: sinks by name, with their secrets in files.
enum NotificationConfiguration {
    private static let fileFields = ["tokenFile", "secretFile", "command"]

    /// The default port, for a gateway whose address is not configured.
    private static let gatewayPort: UInt16 = 18_789

    /// - Parameter ownPorts: the ports on which Ladle listens.
    static func read(_ settings: Settings, ownPorts: Set<UInt16>) throws -> NotificationSettings {
        var notifications = NotificationSettings()
        do throws(FormFault) {
            notifications.addresses = try AddressPolicy(
                allowed: settings.list(.notificationsAllowHosts),
                ownPorts: ownPorts.union([port(of: settings.text(.gatewayURL))])
            )
        } catch {
            throw StartFailure(message: "\(error.field): \(error.detail)", status: .configuration)
        }
        if let text = settings.text(.notificationsPublicURL) {
            guard (try? SinkURL(text)) != nil else {
                throw StartFailure(
                    message: "notifications.publicUrl: write an address such as https://ladle.example.ts.net",
                    status: .configuration
                )
            }
            notifications.publicURL = text.hasSuffix("/") ? String(text.dropLast()) : text
        }
        notifications.hasApprovalLinks = settings.bool(.approvalsLinks)
        notifications.timeZone = ZoneFile.hostZone
        notifications.environment = ["PATH", "HOME"].compactMap { name in
            Program.environment[name].map { "\(name)=\($0)" }
        }
        let text = settings.text(.notificationsSinks) ?? "{}"
        guard let sinks = try? JSONDocument(parsing: text).root else { return notifications }
        for (name, value) in sinks.members { notifications.sinks.append(try sink(name, value)) }
        guard notifications.sinks.count <= NotificationLimits.sinks else {
            throw StartFailure(
                message: "notifications.sinks: there may be \(NotificationLimits.sinks) sinks",
                status: .configuration
            )
        }
        return notifications
    }

    /// A line for the owner of a configuration file that others may read: the address of a webhook is its secret, and so is a topic.
    static func exposure(_ settings: Settings) -> String? {
        guard case .file(let path, _)? = settings[.notificationsSinks]?.origin,
            (try? TextFile.contents(path))?.isExposed == true
        else { return nil }
        return
            "other users may read \(path), and the addresses of sinks in it are secrets: chmod o-rwx \(Printable.argument(path))"
    }

    /// The port of a gateway's address, whose scheme is ws or wss.
    private static func port(of gateway: String?) -> UInt16 {
        gateway.flatMap { try? SinkURL("http" + $0.dropFirst(2)).port } ?? gatewayPort
    }

    private static func sink(_ name: String, _ value: JSONValue) throws -> NotificationSink {
        func failure(_ detail: String) -> StartFailure {
            StartFailure(message: "notifications.sinks.\(name): \(detail)", status: .configuration)
        }
        guard value.kind == .object, !name.isEmpty, name.utf8.count <= NotificationLimits.nameBytes else {
            throw failure("write an object such as {kind: \"ntfy\", url: \"https://ntfy.sh\", topic: \"NAME\"}")
        }
        let fields = (NotificationSink.fields + fileFields).filter { $0 != "name" && $0 != "token" }
        for member in value.members where !fields.contains(member.key) {
            throw failure("unknown field \(member.key); there are \(fields.joined(separator: ", "))")
        }
        let token = try value["tokenFile"]?.string.map { try secret(at: $0, failure) }
        var key: WebhookSecret?
        if let path = value["secretFile"]?.string {
            key = WebhookSecret(try secret(at: path, failure))
            guard key != nil else { throw failure("\(path) holds no secret such as whsec_…, of 24 to 64 bytes") }
        }
        do throws(NotificationSink.Fault) {
            return try NotificationSink(
                id: "config:\(name)",
                name: name,
                origin: .config,
                value,
                token: token,
                secret: key
            )
        } catch {
            switch error {
            case .field(let fault): throw failure(fault.detail)
            case .url(let fault): throw failure(fault.detail)
            case .commandFromAPI: throw failure("no command")
            }
        }
    }

    private static func secret(at path: String, _ failure: (String) -> StartFailure) throws -> String {
        let text: String
        do throws(SecretFile.Fault) {
            text = try SecretFile.read(path).reveal().filter { !$0.isWhitespace }
        } catch {
            throw failure(error.description + (error.hint.map { " (\($0))" } ?? ""))
        }
        guard !text.isEmpty else { throw failure("\(path) is empty") }
        return text
    }
}
