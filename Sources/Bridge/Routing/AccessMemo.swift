import Access
import Exchanges
import HTTPModel

/// The owner on a connection of his own, who was admitted before: further plain GETs for the same host need no second
/// look. Anything that access rules could mind (an Origin, a credential, a proxy's field, a body) takes the long way.
final class AccessMemo {
    private let host: [UInt8]
    private let caller: Caller

    private init(host: [UInt8], caller: Caller) {
        self.host = host
        self.caller = caller
    }

    static func keep(_ caller: Caller, _ facts: RequestFacts, for exchange: Exchange) {
        guard case .owner = caller, facts.authorization.isEmpty, facts.ticket == nil, facts.hosts.count == 1 else {
            return
        }
        guard exchange.connection.memo == nil else { return }
        exchange.connection.memo = AccessMemo(host: Array(facts.hosts[0].utf8), caller: caller)
    }

    static func caller(of exchange: Exchange) -> Caller? {
        guard let memo = exchange.connection.memo as? AccessMemo, memo.covers(exchange.head) else { return nil }
        return memo.caller
    }

    private func covers(_ head: RequestHead) -> Bool {
        guard head.method == .get || head.method == .head, head.query == nil else { return false }
        var sawHost = false
        for index in head.fields.indices {
            switch head.fields.slots[index].name {
            case .host:
                guard !sawHost, head.fields.value(at: index).elementsEqual(host) else { return false }
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
