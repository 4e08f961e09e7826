package import Observability

extension HTTPServer {
    /// The server's traffic in bytes, connections and requests. The responder counts requests by subject.
    package func writeMetrics(to page: inout MetricsPage) {
        page.gauge("ladle_http_connections_open", "Connections now open.", openConnections)
        page.counter("ladle_http_connections", "Connections accepted.", counters.accepted)
        page.counter("ladle_http_connections_over_limit", "Connections refused for their number.", counters.overLimit)
        page.counters(
            "ladle_http_requests",
            "Requests whose head was read, by protocol.",
            [(["protocol": "http/1"], counters.requestsHTTP1), (["protocol": "http/2"], counters.requestsHTTP2)]
        )
        page.counters(
            "ladle_http_refusals",
            "Requests refused before they had a handler: malformed, late, or against a limit of the protocol.",
            counters.refused.sorted { $0.key < $1.key }.map { (["reason": $0.key], $0.value) }
        )
        page.counter("ladle_http_deadlines", "Connections whose peer was late.", counters.timedOut)
        page.counter(
            "ladle_http_stalls",
            "Connections and streams cut because their peer took nothing.",
            counters.stalled
        )
        page.gauge(
            "ladle_http_unread_bytes",
            "Bytes of answers over 4 KiB that clients have not read whole.",
            unread.bytes
        )
        page.gauge(
            "ladle_http_body_bytes",
            "Bytes of bodies over 64 KiB whose requests are not answered yet.",
            bodies.bytes
        )
        page.counter("ladle_http_received_bytes", "Bytes from clients, after TLS.", counters.bytesIn)
        page.counter("ladle_http_sent_bytes", "Bytes to clients, as on the wire.", sentBytes)
        page.counters(
            "ladle_tls_handshakes",
            "TLS handshakes by outcome.",
            [(["outcome": "done"], counters.handshakes), (["outcome": "failed"], counters.handshakesFailed)]
        )
    }
}
