import Basics
import JSONBytes
import Notifications
import Server

/// Checks the page that a canvas is told to show. Only pages of the web are allowed: a page of the gateway itself would
/// be shown with its rights, and other schemes read files or run scripts. Only the known fields are passed on, in the
/// form in which they were parsed here.
enum CanvasParams {
    /// The longest fragment: the length limit of an address.
    private static let longestFragment = 2_048
    private static let numbers = ["x", "y", "width", "height"]

    static func checked(_ value: JSONValue?, gateway: String?) throws(Problem) -> [UInt8]? {
        guard let value, !value.isNull else { return nil }
        for member in value.members where member.key != "url" && !numbers.contains(member.key) {
            let name = Printable.escaped(member.key, limit: 64).text
            throw .invalidField("params.\(name)", "A canvas takes url, x, y, width and height.")
        }
        var url: String?
        if let wanted = value["url"], !wanted.isNull {
            guard let text = wanted.string else { throw refused("`url` is a text") }
            url = try Self.url(text, gateway)
        }
        for name in numbers {
            guard let number = value[name], !number.isNull else { continue }
            guard number.double?.isFinite == true else {
                throw .invalidField("params.\(name)", "`\(name)` is a number.")
            }
        }
        var writer = JSONWriter()
        writer.object { object in
            object.member("url", url)
            for name in numbers { object.member(name, value[name]?.double) }
        }
        return writer.bytes
    }

    private static func url(_ text: String, _ gateway: String?) throws(Problem) -> String {
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let fragment = parts.count > 1 ? "#" + parts[1] : ""
        guard fragment.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }),
            fragment.utf8.count <= longestFragment
        else { throw refused("the part behind # is no part of an address") }
        let url: SinkURL
        do throws(SinkURL.Fault) {
            url = try SinkURL(String(parts[0]))
        } catch {
            throw refused("an address such as https://example.org/page is needed, without a user name")
        }
        let host = name(url.host)
        if host == "localhost" || host.hasSuffix(".localhost") || isOwn(host) {
            throw refused("the address is one of the device or gateway itself")
        }
        if let gateway, let end = gateway.firstRange(of: "://"),
            let own = try? SinkURL("http" + gateway[end.lowerBound...]), name(own.host) == host
        {
            throw refused("the address is the gateway's")
        }
        return url.text + fragment
    }

    private static func name(_ host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

    /// Whether the address is special, such as loopback: neither public nor inside the private network.
    private static func isOwn(_ host: String) -> Bool {
        guard let address = NetworkAddress(host) else { return false }
        switch AddressPolicy.refusal(of: address) {
        case nil, .private, .shared: return false
        default: return true
        }
    }

    private static func refused(_ why: String) -> Problem {
        .invalidField("params.url", "A canvas shows pages of http and https that are not the gateway's: \(why).")
    }
}
