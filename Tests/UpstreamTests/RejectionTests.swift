import Gateway
import JSONBytes
import Observability
import Testing
import WebSocket

@testable import Upstream

struct RejectionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var details: String
        var code = "INVALID_REQUEST"
        var message = "refused"
        var extra = ""
        var state: LinkState
        var shown: String
        var next: Rejection.Next
        var hint: String?
        var context = Rejection.Context(hasSharedSecret: true)
        var testDescription: String { details + message + extra }
    }

    static func code(_ name: String, _ more: String = "") -> String { #"{"code":"\#(name)"\#(more)}"# }
    static let stored = Rejection.Context(
        hasSharedSecret: true,
        sentDeviceToken: false,
        hasStoredDeviceToken: true,
        triedDeviceToken: false,
        isTrustedPath: true
    )
    static let tokenOnly = Rejection.Context(hasSharedSecret: false, sentDeviceToken: true, hasStoredDeviceToken: true)

    static let rows: [Row] =
        [
            "AUTH_TOKEN_MISSING", "AUTH_PASSWORD_MISSING", "AUTH_REQUIRED", "AUTH_TOKEN_MISMATCH",
            "AUTH_PASSWORD_MISMATCH",
            "AUTH_TOKEN_NOT_CONFIGURED", "AUTH_PASSWORD_NOT_CONFIGURED", "AUTH_UNAUTHORIZED",
            "AUTH_BOOTSTRAP_TOKEN_INVALID", "AUTH_TAILSCALE_IDENTITY_MISSING", "AUTH_TAILSCALE_WHOIS_FAILED",
            "AUTH_IDENTITY_HEADER_REQUIRED", "DEVICE_IDENTITY_REQUIRED", "DEVICE_AUTH_SIGNATURE_INVALID",
            "DEVICE_AUTH_PUBLIC_KEY_INVALID", "DEVICE_AUTH_DEVICE_ID_MISMATCH", "CONTROL_UI_ORIGIN_NOT_ALLOWED",
            "PROTOCOL_MISMATCH", "AUTH_SOMETHING_NEW", "AUTH_DEVICE_TOKEN_MISMATCH",
        ].map { Row(details: code($0), state: .refused, shown: $0, next: .stop) } + [
            Row(
                details: code("AUTH_TOKEN_MISMATCH", #","canRetryWithDeviceToken":true"#),
                state: .connecting,
                shown: "AUTH_TOKEN_MISMATCH",
                next: .retryWithDeviceToken,
                context: stored
            ),
            Row(
                details: code("AUTH_TOKEN_MISMATCH", #","recommendedNextStep":"retry_with_device_token""#),
                state: .connecting,
                shown: "AUTH_TOKEN_MISMATCH",
                next: .retryWithDeviceToken,
                context: stored
            ),
            Row(
                details: code("AUTH_TOKEN_MISMATCH"),
                state: .refused,
                shown: "AUTH_TOKEN_MISMATCH",
                next: .stop,
                hint: "openclaw config get gateway.auth.token  "
                    + "(for the token file; Ladle reads it within 30 s, or at once: pkill -HUP -f 'ladle serve')",
                context: stored
            ),
            Row(
                details: code("AUTH_TOKEN_MISMATCH"),
                state: .connecting,
                shown: "AUTH_TOKEN_MISMATCH",
                next: .dropDeviceToken,
                context: tokenOnly
            ),
            Row(
                details: code("AUTH_DEVICE_TOKEN_MISMATCH"),
                state: .connecting,
                shown: "AUTH_DEVICE_TOKEN_MISMATCH",
                next: .dropDeviceToken,
                context: tokenOnly
            ),
            Row(
                details: code("AUTH_SCOPE_MISMATCH"),
                state: .waitingForApproval,
                shown: "AUTH_SCOPE_MISMATCH",
                next: .waitForApproval,
                hint: "openclaw devices list"
            ),
            Row(
                details: code("AUTH_RATE_LIMITED"),
                state: .offline,
                shown: "AUTH_RATE_LIMITED",
                next: .retryAfter(milliseconds: 300_000)
            ),
            Row(
                details: code("AUTH_RATE_LIMITED"),
                extra: #","retryAfterMs":400000"#,
                state: .offline,
                shown: "AUTH_RATE_LIMITED",
                next: .retryAfter(milliseconds: 400_000)
            ),
            Row(
                details: code("PAIRING_REQUIRED", #","requestId":"r-1","reason":"scope-upgrade""#),
                code: "NOT_PAIRED",
                state: .waitingForApproval,
                shown: "PAIRING_REQUIRED",
                next: .waitForApproval,
                hint: "openclaw devices approve r-1"
            ),
            Row(
                details: code("PAIRING_REQUIRED", #","requestId":"$(reboot)""#),
                code: "NOT_PAIRED",
                state: .waitingForApproval,
                shown: "PAIRING_REQUIRED",
                next: .waitForApproval,
                hint: "openclaw devices list"
            ),
            Row(
                details: "{}",
                code: "NOT_PAIRED",
                state: .waitingForApproval,
                shown: "NOT_PAIRED",
                next: .waitForApproval
            ),
            Row(
                details: code("DEVICE_AUTH_SIGNATURE_EXPIRED"),
                state: .offline,
                shown: "DEVICE_AUTH_SIGNATURE_EXPIRED",
                next: .retryAfter(milliseconds: 10_000)
            ),
            Row(
                details: code("DEVICE_AUTH_NONCE_MISMATCH"),
                state: .offline,
                shown: "DEVICE_AUTH_NONCE_MISMATCH",
                next: .retryAfter(milliseconds: 10_000)
            ),
            Row(
                details: code("OPERATOR_ACCESS_DENIED"),
                state: .offline,
                shown: "OPERATOR_ACCESS_DENIED",
                next: .retryAfter(milliseconds: 60_000)
            ),
            Row(details: #"{"expectedProtocol":5}"#, state: .refused, shown: "PROTOCOL_MISMATCH", next: .stop),
            Row(
                details: #"{"reason":"startup-sidecars"}"#,
                code: "UNAVAILABLE",
                state: .offline,
                shown: "GATEWAY_STARTING",
                next: .retryAfter(milliseconds: 500)
            ),
            Row(
                details: #"{"reason":"startup-sidecars"}"#,
                code: "UNAVAILABLE",
                extra: #","retryAfterMs":900"#,
                state: .offline,
                shown: "GATEWAY_STARTING",
                next: .retryAfter(milliseconds: 900)
            ),
            Row(details: "{}", code: "UNAVAILABLE", state: .offline, shown: "UNAVAILABLE", next: .retry),
            Row(
                details: "{}",
                message: "invalid connect params: at root",
                state: .refused,
                shown: "INVALID_REQUEST",
                next: .stop
            ),
            Row(
                details: code("NOBODY_KNOWS"),
                state: .offline,
                shown: "NOBODY_KNOWS",
                next: .retryAfter(milliseconds: 60_000)
            ),
            Row(
                details: code("NOBODY_KNOWS"),
                extra: #","retryAfterMs":9223372036854775807"#,
                state: .offline,
                shown: "NOBODY_KNOWS",
                next: .retryAfter(milliseconds: 600_000)
            ),
        ]

    @Test(arguments: rows)
    func `each refusal has a state, the gateway's code, a sentence and a next step`(_ row: Row) throws {
        let text = #"{"code":"\#(row.code)","message":"\#(row.message)","details":\#(row.details)\#(row.extra)}"#
        let error = GatewayError(try JSONDocument(parsing: Array(text.utf8)).root)
        let rejection = Rejection(error, row.context)
        #expect(rejection.state == row.state)
        #expect(rejection.code == row.shown)
        #expect(rejection.next == row.next)
        #expect(rejection.detail.hasSuffix(".") || rejection.detail.contains("The gateway said: "))
        if let hint = row.hint { #expect(rejection.hint == hint) }
        if rejection.state == .refused { #expect(rejection.hint != nil) }
    }

    static let closes: [(UInt16, String, LinkState, String, Rejection.Next)] = [
        (1000, "", .offline, "LINK_DROPPED", .retry),
        (1005, "", .offline, "LINK_DROPPED", .retry),
        (1002, "protocol mismatch", .refused, "PROTOCOL_MISMATCH", .stop),
        (1002, "", .offline, "LINK_DROPPED", .retry),
        (1008, "unauthorized: gateway token mismatch", .refused, "UNAUTHORIZED", .stop),
        (1008, "pairing required", .waitingForApproval, "PAIRING_REQUIRED", .waitForApproval),
        (1008, "slow consumer", .offline, "SLOW_CONSUMER", .retry),
        (1008, "repeated unauthorized calls", .offline, "POLICY_VIOLATION", .retryAfter(milliseconds: 30_000)),
        (1008, "invalid connect params: x", .refused, "INVALID_REQUEST", .stop),
        (1009, "preauth payload too large", .offline, "FRAME_TOO_BIG", .retry),
        (1012, "service restart", .offline, "GATEWAY_RESTARTING", .retry),
        (1013, "gateway starting", .offline, "GATEWAY_STARTING", .retryAfter(milliseconds: 500)),
        (4001, "device removed", .offline, "DEVICE_REMOVED", .dropDeviceToken),
        (4001, "client invalidated: device token rotated", .offline, "DEVICE_REMOVED", .dropDeviceToken),
        (4001, "", .offline, "DEVICE_REMOVED", .dropDeviceToken),
        (4001, "gateway auth changed", .offline, "GATEWAY_AUTH_CHANGED", .retry),
        (4001, "client invalidated: operator role changed", .offline, "OPERATOR_ROLE_CHANGED", .retry),
        (4001, "operator access denied", .offline, "OPERATOR_ACCESS_DENIED", .retryAfter(milliseconds: 60_000)),
        (4001, "agent runtime authority closed", .offline, "LINK_DROPPED", .retry),
        (4999, "who knows", .offline, "LINK_DROPPED", .retry),
    ]

    @Test(arguments: closes)
    func `each close code means something`(
        _ row: (code: UInt16, reason: String, state: LinkState, shown: String, next: Rejection.Next)
    ) {
        let rejection = Rejection(WebSocketClose(row.code, row.reason), online: true)
        #expect(rejection.state == row.state && rejection.code == row.shown && rejection.next == row.next)
    }

    static let statuses: [(Int, Int?, String, Int64)] = [
        (503, nil, "GATEWAY_RESTARTING", 2_000), (503, 20, "GATEWAY_RESTARTING", 20_000),
        (503, 99_999_999, "GATEWAY_RESTARTING", 600_000), (429, nil, "UPGRADE_REFUSED", 5_000),
        (404, nil, "UPGRADE_REFUSED", 30_000), (302, nil, "PROXY_SIGN_IN", 60_000), (401, nil, "PROXY_SIGN_IN", 60_000),
    ]

    @Test(arguments: statuses)
    func `each HTTP status in place of the upgrade means something`(
        _ row: (status: Int, retryAfter: Int?, shown: String, wait: Int64)
    ) throws {
        let failure = Rejection.TransportFailure.handshake(.refused(status: row.status, retryAfter: row.retryAfter))
        let rejection = Rejection(failure, url: try GatewayURL("ws://127.0.0.1"))
        #expect(rejection.state == .offline && rejection.code == row.shown)
        #expect(rejection.next == .retryAfter(milliseconds: row.wait))
        #expect((rejection.hint == nil) == [503, 429].contains(row.status))
    }

    @Test func `a cut request id in a close reason is not offered as a command`() {
        let whole = "pairing required: device is not approved yet (requestId: 20eb0210-16ed-4651-ab95-2a0a5022d802)"
        #expect(
            Rejection(WebSocketClose(1008, whole), online: false).hint
                == "openclaw devices approve 20eb0210-16ed-4651-ab95-2a0a5022d802"
        )
        let cut = "pairing required: device asks for more (requestId: 99848416-92ce-4a7f-aa72-6c7272491"
        #expect(Rejection(WebSocketClose(1008, cut), online: false).hint == "openclaw devices list")
    }

    @Test(arguments: [("req-7", "openclaw devices approve req-7"), ("a:b.c_1", "openclaw devices approve a:b.c_1")])
    func `a request id of any allowed form is offered if it is whole`(id: String, hint: String) {
        #expect(Rejection(WebSocketClose(1008, "pairing required (requestId: \(id))"), online: false).hint == hint)
        let cut = Rejection(WebSocketClose(1008, "pairing required (requestId: \(id)"), online: false)
        #expect(cut.hint == "openclaw devices list")
    }

    @Test func `a lock-out lasts as long as the gateway says, and named roles are no matter of pairing`() {
        let context = Rejection.Context(hasSharedSecret: true)
        func error(_ text: String) -> GatewayError { GatewayError(try? JSONDocument(parsing: Array(text.utf8)).root) }
        let locked = Rejection(
            error(
                #"{"code":"INVALID_REQUEST","message":"x","retryable":true,"retryAfterMs":61000,"#
                    + #""details":{"code":"AUTH_RATE_LIMITED"}}"#
            ),
            context
        )
        #expect(locked.next == .retryAfter(milliseconds: 61_000) && locked.detail.contains("2 min"))
        let roles = Rejection(
            error(#"{"code":"NOT_PAIRED","message":"x","details":{"code":"AUTH_VERIFIED_USER_REQUIRED"}}"#),
            context
        )
        #expect(roles.state == .refused && roles.requestId == nil && roles.hint?.contains("token") == true)
    }

    @Test func `a gateway's message becomes one short line`() {
        let rejection = Rejection(
            GatewayError(code: "X", message: "a\u{1B}[31m\nb" + String(repeating: "c", count: 9_000)),
            .init(hasSharedSecret: true)
        )
        #expect(!rejection.detail.unicodeScalars.contains { $0.properties.generalCategory == .control })
        #expect(rejection.detail.count < 400)
    }

    @Test func `a missing scope is seen in both wire forms`() throws {
        func error(_ text: String) throws -> GatewayError {
            GatewayError(try JSONDocument(parsing: Array(text.utf8)).root)
        }
        let old = try error(#"{"code":"INVALID_REQUEST","message":"missing scope: operator.admin"}"#)
        #expect(old.missingScope == "operator.admin" && old.requiredScopes == ["operator.admin"])
        let new = try error(
            #"{"code":"FORBIDDEN","message":"x","details":{"code":"MISSING_SCOPE","missingScope":"operator.write","requiredScopes":["operator.write","operator.admin"]}}"#
        )
        #expect(new.missingScope == "operator.write" && new.requiredScopes.count == 2)
        #expect(try error(#"{"code":"UNAVAILABLE","message":"missing scope: x"}"#).missingScope == nil)
        #expect(try error(#"{"code":"INVALID_REQUEST","message":"missing scope: "}"#).missingScope == nil)
    }
}
