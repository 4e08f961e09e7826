import Access
import Basics
import EventLoops
import HTTPModel
import Server

/// Remembers the checks of a connection's first plain request: the host is one of ours, and on the owner's own connection
/// who asks. Further plain GETs for the same host need no second look. A request with anything that access rules look at (an
/// Origin, a credential, a proxy's field, a body) is checked in full. A client with a token that repeats its request is known
/// by that, until something changes about tokens.
final class AccessMemo {
    private let host: [UInt8]
    /// nil until the caller was identified, which open routes do not need.
    private(set) var caller: Caller?
    /// The last request; a head with the same bytes asks for the same.
    private var request: Request?
    private var tokenRevision: UInt64 = 0
    /// Milliseconds of the wall clock.
    private var tokenGoodUntil: Int64 = 0

    private init(host: [UInt8]) {
        self.host = host
    }

    /// Browsers' rules let this request pass.
    static func keep(for exchange: Exchange) {
        let fields = exchange.head.fields
        guard exchange.connection.memo == nil, exchange.commonFields.isEmpty, fields.count(of: .host) == 1,
            let host = fields[.host]
        else { return }
        exchange.connection.memo = AccessMemo(host: Array(host))
    }

    /// The connection alone told who this is.
    static func keep(_ caller: Caller, for exchange: Exchange) {
        let head = exchange.head
        guard case .owner = caller, !head.fields.contains(.authorization), head.ticket == nil else { return }
        (exchange.connection.memo as? AccessMemo)?.caller = caller
    }

    /// An identical repeat needs no new authorization.
    func keep(_ request: Request?) { self.request = request }

    /// The same for a caller with a token: with no body, and nothing in the answer for a browser.
    static func keep(_ call: Call, _ tokens: TokenIndex) {
        guard case .token(let caller) = call.caller, call.exchange.method == .get || call.exchange.method == .head,
            call.head.bodyKind == .none, call.exchange.commonFields.isEmpty,
            let memo = call.exchange.connection.memo as? AccessMemo
        else { return }
        memo.request = call.request
        memo.tokenRevision = tokens.revision
        memo.tokenGoodUntil = tokens.goodUntil(caller.id)
    }

    func repeated(_ access: AccessService, on loop: isolated EventLoop) -> Request? {
        guard let request, request.hasToken else { return request }
        let isSame = access.authenticator.tokens.revision == tokenRevision
        return isSame && loop.wallClock.milliseconds < tokenGoodUntil ? request : nil
    }

    func covers(_ head: RequestHead) -> Bool {
        guard head.method == .get || head.method == .head, head.ticket == nil else { return false }
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
