import HTTPModel
import Testing

/// The small grammars of header values.
struct HeaderValueTests {
    @Test(arguments: [
        ("application/json", "application/json", [String]()),
        ("Text/Plain; Charset=\"utf-8\"", "text/plain", ["charset=utf-8"]),
        ("text/plain;a=b ;\tc=\"d\\\"e;f\";", "text/plain", ["a=b", "c=d\"e;f"]),
        ("application/problem+json", "application/problem+json", []),
    ])
    func `media types`(_ value: String, _ essence: String, _ parameters: [String]) throws {
        let media = try MediaType(parsing: Array(value.utf8)[...])
        #expect(media.essence == essence)
        #expect(media.parameters.map { "\($0.name)=\($0.value)" } == parameters)
    }

    @Test(arguments: [
        "", " ", "text", "text/", "/plain", "text/plain x", "text /plain", "text/plain;a", "text/plain;a=\"b",
        "text/plain;a=b c", "t\u{e4}xt/plain",
    ])
    func `bad media types`(_ value: String) {
        #expect(throws: HeaderValueError.self) { try MediaType(parsing: Array(value.utf8)[...]) }
    }

    @Test(arguments: [
        ("application/json", true), ("application/merge-patch+json", true), ("Application/Problem+JSON; a=b", true),
        ("application/jsonl", false), ("application/x-json", false), ("application/xml", false), ("text/json", false),
        ("image/x+json", false),
    ])
    func `JSON by its type or its suffix`(_ value: String, _ isJSON: Bool) throws {
        #expect(try MediaType(parsing: Array(value.utf8)[...]).isJSON == isJSON)
    }

    static let offers: [MediaType] = [.json, .plain, .eventStream, .ndjson]

    private static let choices: [(String, String?)] = [
        ("", "application/json"), ("*/*", "application/json"), ("text/plain", "text/plain"),
        ("text/*", "text/plain"), ("text/event-stream, */*;q=0.1", "text/event-stream"),
        ("application/json;q=0.5, text/plain;q=0.6", "text/plain"), ("text/html, application/xml", nil),
        ("application/json;q=0, */*", "text/plain"), ("*/*;q=0", nil), ("text/plain;q=0.001", "text/plain"),
        ("text/*;q=0.9, text/plain;q=0.1", "text/event-stream"), ("text/plain;charset=UTF-8", "text/plain"),
        ("text/plain;version=2", nil), ("application/json;q=1.0;ext=1", "application/json"),
        ("APPLICATION/X-NDJSON", "application/x-ndjson"), (",,text/plain,", "text/plain"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "application/json"),
    ]

    @Test(arguments: choices)
    func `Accept chooses`(_ value: String, _ expected: String?) throws {
        let accept = try AcceptList(parsing: Array(value.utf8)[...])
        #expect(accept.choose(among: Self.offers).map { Self.offers[$0].essence } == expected)
    }

    @Test(arguments: [
        "x", "text/plain;q=2", "text/plain;q=0.1234", "text/plain;q=", "text/plain;q=.5", "*/json", "text/plain;q=1.1",
        "text/plain;q=-1",
    ])
    func `bad Accept`(_ value: String) {
        #expect(throws: HeaderValueError(.accept)) { try AcceptList(parsing: Array(value.utf8)[...]) }
    }

    @Test(arguments: [
        ("wait=10", 10, false), ("respond-async, wait=100", 100, true), ("wait=\"5\"; foo, bar=baz", 5, false),
        ("WAIT = 7", 7, false), ("wait=1, wait=2", 1, false), ("foo", nil, false),
        ("wait=999999999999999999999", 86_400, false),
        ("", nil, false),
    ])
    func `Prefer`(_ value: String, _ wait: Int?, _ async: Bool) throws {
        let preferences = try Preferences(parsing: Array(value.utf8)[...])
        #expect(preferences.wait == wait)
        #expect(preferences.respondAsync == async)
    }

    @Test(arguments: ["wait", "wait=", "wait=x", "wait=-1", "wait=1.5", "wait=1 2", "=1", "wait=\"1"])
    func `bad Prefer`(_ value: String) {
        #expect(throws: HeaderValueError(.prefer)) { try Preferences(parsing: Array(value.utf8)[...]) }
    }

    @Test func `entity tags match strongly and weakly`() throws {
        let strong = EntityTag("a")
        let weak = EntityTag("a", isWeak: true)
        let list = try EntityTagCondition(parsing: Array("\"x\", W/\"y\" ,\"a\"".utf8)[...], field: .ifMatch)
        #expect(list == .tags([EntityTag("x"), EntityTag("y", isWeak: true), strong]))
        #expect(list.matchesStrongly(strong))
        #expect(!list.matchesStrongly(weak))
        #expect(list.matchesWeakly(weak))
        #expect(!list.matchesStrongly(EntityTag("y", isWeak: true)))
        #expect(list.matchesWeakly(EntityTag("y")))
        #expect(!list.matchesWeakly(nil))
        let any = try EntityTagCondition(parsing: Array(" * ".utf8)[...], field: .ifNoneMatch)
        #expect(any == .any)
        #expect(any.matchesStrongly(weak) && any.matchesWeakly(strong) && !any.matchesStrongly(nil))
        #expect(weak.text == "W/\"a\"" && strong.text == "\"a\"")
        // A comma, a backslash and high bytes are ordinary characters of a tag.
        let odd = try EntityTagCondition(parsing: Array("\"a,b\\\u{e4}\"".utf8)[...], field: .ifMatch)
        #expect(odd == .tags([EntityTag("a,b\\\u{e4}")]))
    }

    @Test(arguments: ["", "a", "\"a", "\"a\" \"b\"", "w/\"a\"", "W/a", "\"a b\"", ",", "*, \"a\"", "\"\u{7f}\""])
    func `bad entity tags`(_ value: String) {
        #expect(throws: HeaderValueError.self) {
            try EntityTagCondition(parsing: Array(value.utf8)[...], field: .ifMatch)
        }
    }

    @Test(arguments: [
        ("\"8e03978e-40d5\"", "8e03978e-40d5"), ("8e03978e-40d5", "8e03978e-40d5"), ("\"a b\\\"c\\\\\"", "a b\"c\\"),
        ("  abc  ", "abc"), ("a:b/c=", "a:b/c="),
    ])
    func `idempotency keys are quoted or bare`(_ value: String, _ key: String) throws {
        #expect(try IdempotencyKey(parsing: Array(value.utf8)[...]).value == key)
    }

    @Test(arguments: ["", "\"\"", "\"a", "\"a\"b", "a b", "a,b", "a\"b", "\"\\x\"", "\"\u{e4}\"", "\u{e4}", "a;b=1"])
    func `bad idempotency keys`(_ value: String) {
        #expect(throws: HeaderValueError.self) { try IdempotencyKey(parsing: Array(value.utf8)[...]) }
    }

    @Test func `an idempotency key has at most 255 bytes`() throws {
        let key = String(repeating: "k", count: 255)
        #expect(try IdempotencyKey(parsing: Array(key.utf8)[...]).value == key)
        #expect(throws: HeaderValueError(.idempotencyKey, .tooLong(limit: 255))) {
            try IdempotencyKey(parsing: Array((key + "k").utf8)[...])
        }
    }

    private static let dates: [(Int64, String)] = [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (1_795_219_199, "Fri, 20 Nov 2026 23:59:59 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ]

    @Test(arguments: dates)
    func `HTTP dates`(_ seconds: Int64, _ text: String) {
        #expect(String(decoding: HTTPDate.bytes(unixSeconds: seconds), as: UTF8.self) == text)
    }

    @Test(arguments: [
        "LocalHost", "127.0.0.1:18780", "[::1]", "[FD7A::1]:80", "a_b-c.example:0", "[::ffff:1.2.3.4]:65535",
    ])
    func `hosts`(_ value: String) {
        let bytes = Array(value.utf8)
        let isValid = HostPort.isValid(bytes.span)
        #expect(isValid)
    }

    @Test(arguments: [
        "", ":80", "a:", "a:x", "a:70000", "a:123456", "[::1", "[]", "[1]", "[::1]x", "[::1]:", "a b", "a/b", "u@a",
        "::1", "a%20", "\u{e4}", "a:-1", "[fe80::1%25eth0]",
    ])
    func `bad hosts`(_ value: String) {
        let bytes = Array(value.utf8)
        let isValid = HostPort.isValid(bytes.span)
        #expect(!isValid)
    }

    @Test func `methods are known by their exact token`() {
        for method in HTTPMethod.known { #expect(HTTPMethod(method.name.utf8) == method) }
        #expect(HTTPMethod("get".utf8) == .other("get"))
        #expect(HTTPMethod("GETX".utf8) == .other("GETX"))
        #expect(HTTPStatus(99).code == 500 && HTTPStatus(418).reason.isEmpty)
    }
}
