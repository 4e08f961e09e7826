import Access
import Basics
import EventLoops
import HTTPModel
import Server

/// Remembers the checks of a connection's first plain request: the host is one of ours, and on the owner's own
/// connection also the caller. Further plain GETs for the same host skip them. A request with anything that access
/// rules depend on (an Origin, a credential, a proxy's field, a body) is checked in full. A client with a token that
/// repeats its request is recognized by that, until any token changes.
final class AccessMemo {
    private let host: [UInt8]
    /// Nil until the caller is identified; open routes need no caller.
    private(set) var caller: Caller?
    /// The last request; an identical head asks for the same.
    private var request: Request?
    private var tokenRevision: UInt64 = 0
    /// The end of the token, in wall-clock milliseconds.
    private var tokenGoodUntil: Int64 = 0

    private init(host: [UInt8]) {
        self.host = host
    }

    /// Remembers the host of a request that the browser rules admitted.
    static func keep(for exchange: Exchange) {
        let fields = exchange.head.fields
        guard exchange.connection.memo == nil, exchange.commonFields.isEmpty, fields.count(of: .host) == 1,
            let host = fields[.host]
        else { return }
        exchange.connection.memo = AccessMemo(host: Array(host))
    }

    /// Remembers a caller identified by the connection alone.
    static func keep(_ caller: Caller, for exchange: Exchange) {
        let head = exchange.head
        guard case .owner = caller, !head.fields.contains(.authorization), head.ticket == nil else { return }
        (exchange.connection.memo as? AccessMemo)?.caller = caller
    }

    /// An identical repeat needs no new authorization.
    func keep(_ request: Request?) { self.request = request }

    /// Remembers the request of a caller with a token, if it has no body and its answer no headers for browsers.
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
