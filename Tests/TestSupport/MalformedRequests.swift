/// Requests that a server must refuse, as raw bytes, sorted by the class of server bug they probe: the 48 classes that
/// the HTTP Garden project found in real servers, in its numbering and our words. Class 0 holds cases missing from its
/// list.
///
/// Each is meant to be sent whole, byte by byte and at every cut, against the parser and against a socket. The answer
/// is `status`, and then the connection closes without another request being read.
package struct MalformedRequest: Sendable, CustomStringConvertible {
    package var bugClass: Int
    package var name: String
    package var bytes: [UInt8]
    package var status: Int
    /// Requests before the bad one that must still be answered.
    package var goodBefore: Int

    /// - Parameter raw: each character up to U+00FF stands for one byte.
    init(_ bugClass: Int, _ name: String, _ raw: String, status: Int = 400, goodBefore: Int = 0) {
        self.bugClass = bugClass
        self.name = name
        bytes = raw.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        self.status = status
        self.goodBefore = goodBefore
    }

    package var description: String { "class \(bugClass): \(name)" }

    package static let all: [MalformedRequest] =
        chunkSizes + chunkFraming + contentLengths + transferEncodings + fieldBytes + fieldNames + requestLines
        + hosts + sequences + limits
}

/// The usual GET with these field lines.
private func get(_ fields: String) -> String { "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n" }
/// A chunked POST with these body bytes, and a request after it that must not be processed.
private func chunked(_ body: String) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(body)GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
}
/// A POST with these field lines and these body bytes.
private func post(_ fields: String, _ body: String = "") -> String {
    "POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\(body)"
}

extension MalformedRequest {
    static let chunkSizes: [MalformedRequest] = [
        .init(1, "chunk size with an underscore", chunked("0_2e\r\n\r\n")),
        .init(1, "chunk size with a plus", chunked("+5\r\nhello\r\n0\r\n\r\n")),
        .init(1, "chunk size with a minus", chunked("-5\r\nhello\r\n0\r\n\r\n")),
        .init(1, "chunk size with 0x", chunked("0x5\r\nhello\r\n0\r\n\r\n")),
        .init(17, "empty chunk size", chunked("\r\n\r\n")),
        .init(17, "empty chunk size after a chunk", chunked("1\r\nZ\r\n\r\n0\r\n\r\n")),
        .init(17, "chunk extension without a size", chunked(";a=b\r\n\r\n")),
        .init(22, "chunk size with a valid prefix", chunked("5z\r\nhello\r\n0\r\n\r\n")),
        .init(22, "chunk size with a decimal point", chunked("5.0\r\nhello\r\n0\r\n\r\n")),
        .init(22, "chunk size with a comma", chunked("5,5\r\nhello\r\n0\r\n\r\n")),
        .init(25, "chunk size with 0X", chunked("0X5\r\nhello\r\n0\r\n\r\n")),
        .init(25, "chunk size with 00x", chunked("00x5\r\nhello\r\n0\r\n\r\n")),
        .init(25, "blank before the chunk size", chunked(" 5\r\nhello\r\n0\r\n\r\n")),
        .init(25, "tab before the chunk size", chunked("\t5\r\nhello\r\n0\r\n\r\n")),
        .init(25, "blank after the chunk size", chunked("5 \r\nhello\r\n0\r\n\r\n")),
        .init(25, "NUL after the chunk size", chunked("5\0\r\nhello\r\n0\r\n\r\n")),
        .init(25, "hexadecimal suffix on the chunk size", chunked("5h\r\nhello\r\n0\r\n\r\n")),
        .init(0, "chunk size of 17 digits", chunked("00000000000000005\r\nhello\r\n0\r\n\r\n")),
        .init(0, "chunk size of 2^64 + 5", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n")),
        .init(0, "chunk size of 2^63", chunked("8000000000000000\r\nhello\r\n0\r\n\r\n")),
        .init(0, "chunk size of 2^64 - 1", chunked("FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n")),
        .init(0, "digits of another script", chunked("\u{d9}\u{a5}\r\nhello\r\n0\r\n\r\n")),
        .init(0, "chunk beyond the body limit", chunked("7FFFFFFFFFFFFFFF\r\nhello"), status: 413),
    ]

    static let chunkFraming: [MalformedRequest] = [
        .init(31, "CR and a byte end the chunk line", chunked("5\r\r;ABCD\r\n34\r\nE\r\n0\r\n\r\n")),
        .init(31, "CR X ends the chunk line", chunked("5\rXhello\r\n0\r\n\r\n")),
        .init(31, "bare CR ends the chunk line", chunked("5\rhello\r\n0\r\n\r\n")),
        .init(36, "CR inside a chunk extension", chunked("2;\ra\r\n02\r\n41\r\n0\r\n\r\n")),
        .init(36, "CR CR after a chunk extension", chunked("5;a=b\r\rhello\r\n0\r\n\r\n")),
        .init(36, "CR in a quoted extension value", chunked("5;a=\"b\rc\"\r\nhello\r\n0\r\n\r\n")),
        .init(36, "LF in a quoted extension value", chunked("5;a=\"b\nc\"\r\nhello\r\n0\r\n\r\n")),
        .init(36, "blank in a chunk extension", chunked("5; a=b\r\nhello\r\n0\r\n\r\n")),
        .init(36, "blank before a chunk extension", chunked("5 ;a=b\r\nhello\r\n0\r\n\r\n")),
        .init(36, "chunk extension without a name", chunked("5;\r\nhello\r\n0\r\n\r\n")),
        .init(36, "chunk extension without a value", chunked("5;a=\r\nhello\r\n0\r\n\r\n")),
        .init(36, "NUL in a chunk extension", chunked("5;a\0b\r\nhello\r\n0\r\n\r\n")),
        .init(36, "text after a quoted extension value", chunked("5;a=\"b\"c\r\nhello\r\n0\r\n\r\n")),
        .init(39, "two other bytes instead of the final CR LF", chunked("0\r\nXX")),
        .init(39, "trailer without a colon", chunked("0\r\nX\r\n\r\n")),
        .init(39, "a blank line with a blank in it ends the body", chunked("0\r\n \r\n")),
        .init(39, "a folded trailer", chunked("0\r\nX: a\r\n b\r\n\r\n")),
        .init(39, "CR X instead of the final CR LF", chunked("0\r\n\rX")),
        .init(39, "bare LF instead of the final CR LF", chunked("0\r\n\n")),
        .init(39, "bare LF ends a trailer", chunked("0\r\nX: a\n\r\n")),
        .init(39, "bare CR in a trailer", chunked("0\r\nX: a\rb\r\n\r\n")),
        .init(39, "NUL in a trailer", chunked("0\r\nX: a\0b\r\n\r\n")),
        .init(39, "blank before a trailer's colon", chunked("0\r\nX : a\r\n\r\n")),
        .init(39, "empty trailer name", chunked("0\r\n: a\r\n\r\n")),
        .init(47, "an invalid chunk, then a request", chunked("INVALID!!!\r\n")),
        .init(47, "chunk data longer than its size", chunked("5\r\nhello!\r\n0\r\n\r\n")),
        .init(47, "chunk data shorter than its size", chunked("6\r\nhello\r\n0\r\n\r\n")),
        .init(47, "bare LF after chunk data", chunked("5\r\nhello\n0\r\n\r\n")),
        .init(47, "bare CR after chunk data", chunked("5\r\nhello\r0\r\n\r\n")),
        .init(47, "two other bytes after chunk data", chunked("5\r\nhelloXX0\r\n\r\n")),
        .init(47, "bare LF ends the chunk line", chunked("5\nhello\r\n0\r\n\r\n")),
        .init(47, "bare LF ends the last chunk", chunked("0\n\n")),
    ]

    static let contentLengths: [MalformedRequest] = [
        .init(10, "Content-Length with a plus", post("Content-Length: +5\r\n", "hello")),
        .init(10, "Content-Length with an underscore", post("Content-Length: 1_0\r\n", "0123456789")),
        .init(10, "Content-Length with plus and underscore", post("Content-Length: +1_0\r\n", "0123456789")),
        .init(16, "empty Content-Length", post("Content-Length: \r\n")),
        .init(16, "Content-Length with nothing after the colon", post("Content-Length:\r\n")),
        .init(16, "Content-Length of blanks", post("Content-Length: \t \r\n")),
        .init(23, "two lengths, the first longer", post("Content-Length: 1\r\nContent-Length: 0\r\n", "Z")),
        .init(33, "two lengths, the last longer", post("Content-Length: 0\r\nContent-Length: 1\r\n", "Z")),
        .init(33, "two equal lengths", post("Content-Length: 1\r\nContent-Length: 1\r\n", "Z")),
        .init(33, "two lengths that differ in case", post("Content-Length: 1\r\ncontent-length: 2\r\n", "ZZ")),
        .init(33, "a list of lengths", post("Content-Length: 5, 6\r\n", "hello!")),
        .init(33, "a list of equal lengths", post("Content-Length: 5,5\r\n", "hello")),
        .init(26, "negative Content-Length", post("Content-Length: -48\r\n")),
        .init(26, "minus zero", post("Content-Length: -0\r\n")),
        .init(29, "Content-Length with a valid prefix", post("Content-Length: 1Z\r\n", "Z")),
        .init(29, "Content-Length with an exponent", post("Content-Length: 1e1\r\n", "0123456789")),
        .init(29, "Content-Length with a decimal point", post("Content-Length: 5.0\r\n", "hello")),
        .init(29, "Content-Length with a blank inside", post("Content-Length: 1 0\r\n", "0123456789")),
        .init(29, "quoted Content-Length", post("Content-Length: \"5\"\r\n", "hello")),
        .init(32, "octal Content-Length", post("Content-Length: 010\r\n", "01234567")),
        .init(32, "Content-Length with 0x", post("Content-Length: 0x10\r\n", "Z")),
        .init(32, "Content-Length with 0o", post("Content-Length: 0o10\r\n", "01234567")),
        .init(32, "Content-Length 00", post("Content-Length: 00\r\n")),
        .init(38, "empty Content-Length, then a request", get("Content-Length: \r\n") + get("")),
        .init(42, "an empty length before another", post("Content-Length: \r\nContent-Length: 43\r\n")),
        .init(42, "an empty length after another", post("Content-Length: 5\r\nContent-Length: \r\n", "hello")),
        .init(0, "Content-Length 2^63", post("Content-Length: 9223372036854775808\r\n")),
        .init(0, "Content-Length 2^64 + 5", post("Content-Length: 18446744073709551621\r\n", "hello")),
        .init(0, "Content-Length of 30 digits", post("Content-Length: 100000000000000000000000000000\r\n")),
        .init(0, "Content-Length above the body limit", post("Content-Length: 2000000\r\n"), status: 413),
        .init(0, "Content-Length 2^63 - 1", post("Content-Length: 9223372036854775807\r\n"), status: 413),
    ]

    static let transferEncodings: [MalformedRequest] = [
        .init(
            11,
            "chunked twice, in two fields",
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "1\r\nZ\r\n0\r\n\r\n")
        ),
        .init(11, "chunked twice, in a list", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n")),
        .init(
            11,
            "chunked and identity in two fields",
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n")
        ),
        .init(12, "0xA0 around chunked", post("Transfer-Encoding: \u{a0}chunked\u{a0}\r\n", "0\r\n\r\n")),
        .init(12, "0x85 before chunked", post("Transfer-Encoding: \u{85}chunked\r\n", "0\r\n\r\n")),
        .init(12, "vertical tab before chunked", post("Transfer-Encoding: \u{0b}chunked\r\n", "0\r\n\r\n")),
        .init(21, "comma before chunked", post("Transfer-Encoding: ,chunked\r\n", "0\r\n\r\n")),
        .init(
            21,
            "comma before chunked, with a length",
            post("Transfer-Encoding: ,chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")
        ),
        .init(21, "comma after chunked", post("Transfer-Encoding: chunked,\r\n", "0\r\n\r\n")),
        .init(44, "an unknown coding", post("Transfer-Encoding: blegh\r\n", "1\r\nZ\r\n0\r\n\r\n"), status: 501),
        .init(44, "identity", post("Transfer-Encoding: identity\r\n"), status: 501),
        .init(44, "gzip, then chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")),
        .init(44, "chunked with a suffix", post("Transfer-Encoding: chunkedx\r\n", "0\r\n\r\n"), status: 501),
        .init(44, "chunked with a prefix", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), status: 501),
        .init(44, "chunked with a parameter", post("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n")),
        .init(44, "quoted chunked", post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n")),
        .init(44, "an empty coding", post("Transfer-Encoding:\r\n", "0\r\n\r\n")),
        .init(0, "length, then coding", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
        .init(0, "coding, then length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")),
        .init(
            0,
            "coding in HTTP/1.0",
            "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
    ]

    static let fieldBytes: [MalformedRequest] = [
        .init(2, "NUL and CR in a value", get("Header: v\0\ralue\r\n")),
        .init(2, "NUL in a value", get("Header: v\0alue\r\n")),
        .init(2, "LF in a value", get("Header: v\nalue\r\n")),
        .init(13, "CR ends a field line", get("Visible: :/\rSmuggled: :)\r\n")),
        .init(13, "LF ends a field line", get("Visible: :/\nSmuggled: :)\r\n")),
        .init(19, "LFs before a value", get("Useless:\n\nGET / HTTP/1.1\r\n")),
        .init(19, "vertical tab in a value", get("Useless: \u{0b}x\r\n")),
        .init(19, "form feed in a value", get("Useless: \u{0c}x\r\n")),
        .init(30, "CR LF CR X ends the head", get("\rZGET /evil: HTTP/1.1\r\nHost: a\r\n")),
        .init(30, "CR LF CR CR LF ends the head", get("\r")),
        .init(30, "LF LF ends the head", "GET / HTTP/1.1\r\nHost: a\n\n"),
        .init(30, "CR LF LF ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\n"),
        .init(34, "CR in a value", get("Header: va\rlue\r\n")),
        .init(34, "CR at the end of a value", get("Header: value\r\r\n")),
        .init(35, "text after NUL in a value", get("Test: test\0dropped\r\nConnection: close\r\n")),
        .init(43, "NUL at the end of a value", get("Evil: evil\0\r\n")),
        .init(43, "DEL in a value", get("Evil: evil\u{7f}\r\n")),
        .init(43, "escape in a value", get("Evil: \u{1b}[2J\r\n")),
        .init(41, "0x85 and 0xA0 around a host", "GET / HTTP/1.1\r\nHost: \u{85}a\u{a0}\r\n\r\n"),
        .init(41, "0xA0 before a length", post("Content-Length: \u{a0}5\r\n", "hello")),
        .init(46, "0xFF around a host", "GET / HTTP/1.1\r\nHost: \u{ff}a\u{ff}\r\n\r\n"),
        .init(46, "0xFF around chunked", post("Transfer-Encoding: \u{ff}chunked\u{ff}\r\n", "1\r\nZ\r\n0\r\n\r\n")),
        .init(0, "an unknown expectation", post("Content-Length: 5\r\nExpect: 200-ok\r\n"), status: 417),
        .init(0, "two expectations", post("Content-Length: 5\r\nExpect: 100-continue, x\r\n"), status: 417),
        .init(0, "an empty expectation", post("Content-Length: 5\r\nExpect:\r\n"), status: 417),
    ]

    static let fieldNames: [MalformedRequest] = [
        .init(3, "blank before the colon", post("Content-Length : 34\r\n")),
        .init(3, "tab before the colon", post("Content-Length\t: 34\r\n")),
        .init(3, "blank before the colon of an unknown field", get("X : y\r\n")),
        .init(4, "tab before the first name", "GET / HTTP/1.1\r\n\tContent-Length: 1\r\nHost: a\r\n\r\nX"),
        .init(4, "blank before the first name", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        .init(4, "a folded line", get("X: y\r\n z\r\n")),
        .init(4, "a line folded with a tab", get("X: y\r\n\tz: 1\r\n")),
        .init(8, "a byte above 0x7F in a name", get("\u{ef}oo: bar\r\n")),
        .init(8, "UTF-8 in a name", get("F\u{c3}\u{b6}o: bar\r\n")),
        .init(14, "an at sign in a name", get("fo@o: bar\r\n")),
        .init(14, "a slash in a name", get("fo/o: bar\r\n")),
        .init(14, "a parenthesis in a name", get("fo(o): bar\r\n")),
        .init(14, "a quote in a name", get("\"foo\": bar\r\n")),
        .init(14, "braces in a name", get("{foo}: bar\r\n")),
        .init(14, "a semicolon in a name", get("fo;o: bar\r\n")),
        .init(14, "an equals sign in a name", get("fo=o: bar\r\n")),
        .init(14, "a comma in a name", get("fo,o: bar\r\n")),
        .init(14, "NUL in a name", get("fo\0o: bar\r\n")),
        .init(14, "a control byte in a name", get("fo\u{01}o: bar\r\n")),
        .init(14, "DEL in a name", get("fo\u{7f}o: bar\r\n")),
        .init(18, "an empty name", "GET / HTTP/1.1\r\n: ignored\r\nHost: a\r\n\r\n"),
        .init(20, "0x85 after a name", post("Content-Length\u{85}: 10\r\n", "0123456789")),
        .init(20, "0xA0 after a name", post("Content-Length\u{a0}: 10\r\n", "0123456789")),
        .init(27, "neither name nor value", get(":\r\nI: am cut off\r\n")),
        .init(28, "a blank instead of the colon", post("Content-Length 10\r\n", "0123456789")),
        .init(28, "a name alone", get("Content-Length\r\n")),
        .init(28, "an equals sign instead of the colon", get("X=y\r\n")),
        .init(
            37,
            "a name over two lines",
            post("Transfer-\r\nEncoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")
        ),
    ]

    static let requestLines: [MalformedRequest] = [
        .init(5, "HTTP/1.32", "GET /test HTTP/1.32\r\nHost: a\r\n\r\n"),
        .init(5, "HTTP/1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
        .init(6, "a method with separators", "G=\":<>(e),[T];?\" /get HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(6, "a longer method", "GETX / HTTP/1.1\r\nHost: a\r\n\r\n", status: 501),
        .init(6, "a shorter method", "GE / HTTP/1.1\r\nHost: a\r\n\r\n", status: 501),
        .init(6, "a method in lower case", "get / HTTP/1.1\r\nHost: a\r\n\r\n", status: 501),
        .init(6, "CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", status: 501),
        .init(6, "a long method", "PROPFINDPROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n", status: 501),
        .init(7, "a target that is no path", "GET ! HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "a target without its slash", "GET v1/status HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "an asterisk for GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "text after the asterisk", "OPTIONS *x HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "an authority as target", "GET a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n"),
        .init(7, "a foreign scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "a fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "a control byte in the target", "GET /\u{01} HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "a byte above 0x7F in the target", "GET /\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "a backslash in the target", "GET /a\\..\\b HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "a blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "a tab in the target", "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(7, "a quote in the target", "GET /\"a\" HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(9, "LF inside the request line", "GET /\nHTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(9, "tab inside the request line", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(9, "vertical tab inside the request line", "GET\u{0b}/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(9, "two blanks after the method", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(9, "two blanks before the version", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(9, "a blank before the method", " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(9, "a blank after the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
        .init(9, "bare LF ends the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        .init(9, "bare CR ends the request line", "GET / HTTP/1.1\rHost: a\r\n\r\n"),
        .init(15, "CRs inside the version", "GET / HTTP/\r\r1.1\r\nHost: a\r\n\r\n"),
        .init(15, "an empty version", "GET / HTTP/\r\nHost: a\r\n\r\n"),
        .init(15, "no version", "GET /\r\nHost: a\r\n\r\n"),
        .init(15, "a method alone", "GET\r\nHost: a\r\n\r\n"),
        .init(15, "a version in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n"),
        .init(15, "a comma in the version", "GET / HTTP/1,1\r\nHost: a\r\n\r\n"),
        .init(15, "HTTP/0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", status: 505),
        .init(15, "HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", status: 505),
        .init(15, "HTTP/3.0", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", status: 505),
        .init(15, "the HTTP/2 preface on an HTTP/1 connection", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505),
        .init(24, "a version that overflows", "GET / HTTP/4294967295.255\r\nHost: a\r\n\r\n"),
        .init(24, "a version that overflows to 1.1", "GET / HTTP/257.257\r\nHost: a\r\n\r\n"),
        .init(40, "NUL as method", "\0 / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(40, "no method", " / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(40, "dots and digits for a version", "GET / HTTP/............0596.7407.\r\nHost: a\r\n\r\n"),
        .init(0, "two empty lines before the request", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(0, "bare LF before the request", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(0, "a TLS greeting", "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}\u{00}\u{01}\u{fc}\u{03}\u{03}"),
        .init(0, "a response", "HTTP/1.1 200 OK\r\nHost: a\r\n\r\n"),
    ]

    static let hosts: [MalformedRequest] = [
        .init(0, "no Host", "GET / HTTP/1.1\r\n\r\n"),
        .init(0, "two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        .init(0, "two equal Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"),
        .init(0, "an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        .init(0, "a list of Hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
        .init(0, "user information in Host", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
        .init(0, "a path in Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        .init(0, "a blank in Host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
        .init(0, "a port with letters", "GET / HTTP/1.1\r\nHost: a:8o\r\n\r\n"),
        .init(0, "an empty port", "GET / HTTP/1.1\r\nHost: a:\r\n\r\n"),
        .init(0, "a port that is too large", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n"),
        .init(0, "two ports", "GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n"),
        .init(0, "an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
        .init(0, "an IPv6 address without brackets", "GET / HTTP/1.1\r\nHost: ::1\r\n\r\n"),
        .init(0, "a percent sign in Host", "GET / HTTP/1.1\r\nHost: a%41\r\n\r\n"),
        .init(0, "an absolute target for another host", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(0, "an absolute target for another port", "GET http://a:81/ HTTP/1.1\r\nHost: a:80\r\n\r\n"),
        .init(0, "an absolute target without Host", "GET http://a/ HTTP/1.1\r\n\r\n"),
        .init(0, "an absolute target without authority", "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"),
        .init(0, "user information in the target", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]

    /// Good requests before a bad one: they are answered, the bad one is refused, nothing after it is read.
    static let sequences: [MalformedRequest] = [
        .init(45, "an invalid request after a valid one", get("") + "Invalid\r\n\r\n" + get(""), goodBefore: 1),
        .init(
            45,
            "an invalid request after a body",
            post("Content-Length: 5\r\n", "hello") + "G\0T / HTTP/1.1\r\n\r\n",
            goodBefore: 1
        ),
        .init(
            48,
            "a request after Content-Length: 0 is no body of it",
            post("Content-Length: 0\r\nConnection:keep-alive\r\nid: 0\r\n")
                + post("id: 1\r\nContent-Length: 5\r\n", "hello") + "\u{01}",
            goodBefore: 2
        ),
        .init(
            48,
            "a body longer than its length",
            post("Content-Length: 5\r\n", "hello, world\r\n\r\n"),
            goodBefore: 1
        ),
        .init(
            48,
            "bytes after the last chunk",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nX:Y\r\n\r\n",
            goodBefore: 1
        ),
    ]

    static let limits: [MalformedRequest] = [
        .init(
            0,
            "a request line above 8 KiB",
            "GET /\(String(repeating: "a", count: 8200)) HTTP/1.1\r\nHost: a\r\n\r\n",
            status: 414
        ),
        .init(0, "a request line that never ends", String(repeating: "a", count: 9000), status: 414),
        .init(0, "a field above 16 KiB", get("X: \(String(repeating: "a", count: 16_400))\r\n"), status: 431),
        .init(0, "a field name above 16 KiB", get(String(repeating: "a", count: 16_400)), status: 431),
        .init(
            0,
            "fields above 16 KiB together",
            get(String(repeating: "X: \(String(repeating: "b", count: 600))\r\n", count: 28)),
            status: 431
        ),
        .init(0, "65 fields", get(String(repeating: "X: y\r\n", count: 64)), status: 431),
        .init(
            0,
            "chunk extensions above 1 KiB",
            chunked(String(repeating: "1;a=\(String(repeating: "b", count: 100))\r\nZ\r\n", count: 11))
        ),
        .init(
            0,
            "a trailer above 4 KiB",
            chunked("0\r\nX: \(String(repeating: "a", count: 4200))\r\n\r\n"),
            status: 431
        ),
        .init(
            0,
            "chunks above the body limit",
            chunked("80000\r\n\(String(repeating: "a", count: 524_288))\r\n80001\r\n"),
            status: 413
        ),
    ]
}
