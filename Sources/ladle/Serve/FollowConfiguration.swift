import Access
import Basics
import Commands
import Configuration
import Follow
import Outbound
import POSIX
import TLS
import Upstream

/// The settings `follow.*`, checked: which Ladle this one follows.
enum FollowConfiguration {
    /// Keys that only the Ladle with the link can have.
    private static let leadersOwn: [ConfigurationKey] = [.gatewayURL, .demo, .mqttURL]

    /// Nil without a leader.
    static func read(_ settings: Settings) throws(StartFailure) -> FollowSettings? {
        guard let url = settings.text(.followURL) else { return nil }
        func failure(_ key: ConfigurationKey, _ detail: String) -> StartFailure {
            StartFailure(message: "\(key.name): \(detail)", status: .configuration)
        }
        for key in leadersOwn where settings.isSet(key) {
            throw failure(
                key,
                "a Ladle that follows another one has no gateway and no broker of its own; leave out either this or follow.url"
            )
        }
        guard settings.list(.accessTailnetAllow).isEmpty, !settings.bool(.accessTailnetCapability) else {
            throw failure(
                .followURL,
                "the leader cannot check who is who on the tailnet; here everybody needs a token: leave out access.tailnet"
            )
        }
        guard let address = WebAddress(url) else {
            throw failure(.followURL, "this is no URL such as https://ladle.example:18780")
        }
        let pin = settings.text(.followPin)
        let digest = pin.flatMap { Hex.decode($0.filter { $0 != ":" }) }
        if pin != nil, digest?.count != 32 {
            throw failure(.followPin, "a pin is the 64 hexadecimal digits of a SHA-256")
        }
        if pin != nil, !address.isEncrypted { throw failure(.followPin, "a pin needs https:// in follow.url") }
        if !address.isEncrypted, GatewayURL.hostClass(of: address.host) == .other, !settings.bool(.insecureLAN) {
            throw failure(
                .followURL,
                "\(address.host) is neither this machine nor in the tailnet, and http:// would send the token readable; write https://, "
                    + "or set insecureLan"
            )
        }
        guard let path = settings.text(.followTokenFile) else {
            throw failure(
                .followTokenFile,
                "a file with a token of the leader is needed; there: ladle token create --name follower --scopes admin"
            )
        }
        let token: Secret
        do throws(SecretFile.Fault) {
            token = Secret(try SecretFile.read(path).reveal().filter { !$0.isWhitespace })
        } catch {
            throw failure(.followTokenFile, error.description + (error.hint.map { " (\($0))" } ?? ""))
        }
        guard !token.reveal().isEmpty else { throw failure(.followTokenFile, "\(path) is empty") }
        return FollowSettings(
            target: ServerTarget(
                host: address.host,
                port: address.port,
                path: address.path,
                trust: address.isEncrypted ? digest.map { .pin(sha256: $0) } ?? .system : nil
            ),
            url: address.description,
            token: token,
            host: try hostName(settings),
            version: Version.text
        )
    }

    /// The name of this host in the lists of leaders and followers.
    static func hostName(_ settings: Settings) throws(StartFailure) -> String {
        if let name = settings.text(.clusterName) {
            guard FollowSettings.isName(name) else {
                throw StartFailure(
                    message: "cluster.name: a name has 1 to 64 visible ASCII characters",
                    status: .configuration
                )
            }
            return name
        }
        return FollowSettings.isName(HostName.current) ? HostName.current : "ladle"
    }
}
