/// The first bytes that an HTTP/2 client sends (RFC 9113 §3.4).
package enum HTTP2Preface {
    package static let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
}
