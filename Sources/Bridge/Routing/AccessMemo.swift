import Access
import Exchanges
import HTTPModel

/// What was found about a connection's first plain request, for those that follow: the host is one of ours, and on the
/// owner's own connection who asks. Further plain GETs for the same host need no second look. Anything that access rules
/// could mind (an Origin, a credential, a proxy's field, a body) takes the long way.
final class AccessMemo {
    private let host: [UInt8]
    /// nil until the caller was identified, which open routes do not need.
    private(set) var caller: Caller?
    /// What the last request asked for; a head that repeats that one's asks for the same.
    var request: Request?

    private init(host: [UInt8]) {
        self.host = host
    }

    /// Browsers' rules let this request pass.
    static func keep(_ facts: RequestFacts, for exchange: Exchange) {
        guard exchange.connection.memo == nil, facts.hosts.count == 1, exchange.commonFields.isEmpty else { return }
        exchange.connection.memo = AccessMemo(host: Array(facts.hosts[0].utf8))
    }

    /// The connection alone told who this is.
    static func keep(_ caller: Caller, _ facts: RequestFacts, for exchange: Exchange) {
        guard case .owner = caller, facts.authorization.isEmpty, facts.ticket == nil else { return }
        (exchange.connection.memo as? AccessMemo)?.caller = caller
    }

    func covers(_ head: RequestHead) -> Bool {
        guard head.method == .get || head.method == .head, head.query == nil else { return false }
        var sawHost = false
        for slot in head.fields.slots {
            switch slot.name {
            case .host:
                guard !sawHost, head.fields.bytes[slot.valueRange].elementsEqual(host) else { return false }
                sawHost = true
            case .accept, .acceptEncoding, .acceptLanguage, .cacheControl, .connection, .ifNoneMatch, .keepAlive,
                .lastEventID, .userAgent:
                continue
            default: return false
            }
        }
        return sawHost
    }
}
