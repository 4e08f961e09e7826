import Basics
package import EventLoops
package import Observability
package import Upstream

extension UpstreamLink: GatewayCalls {
    package var port: UInt16? { if case .gateway(let configuration) = target { configuration.url.port } else { nil } }

    package func writeMetrics(to page: inout MetricsPage, on loop: isolated EventLoop) {
        let state = status.state
        let counters = counters
        page.gauge("ladle_link_up", "1 while the gateway is connected.", state.isConnected ? 1 : 0)
        page.gauges(
            "ladle_link_state",
            "1 for the state the link is in.",
            LinkState.allCases.map { (["state": $0.rawValue], $0 == state ? 1 : 0) }
        )
        page.gauge(
            "ladle_link_state_since_seconds",
            "When the link came into its state, in Unix time.",
            seconds: Double(status.since.milliseconds) / 1000
        )
        page.counter("ladle_link_attempts", "Connections tried.", counters.attempts)
        page.counter("ladle_link_connects", "Connections that worked.", counters.hellos)
        page.counter("ladle_link_reconnects", "Of those, all but the first.", max(counters.hellos, 1) - 1)
        page.counter("ladle_link_drops", "Working connections that ended.", counters.drops)
        page.counter("ladle_link_silences", "Connections given up because nothing came.", counters.silences)
        page.counter("ladle_link_holds", "Times the gateway waited because the disk was behind.", counters.holds)
        page.counter("ladle_link_received_frames", "Frames from the gateway.", counters.framesIn)
        page.counter("ladle_link_sent_frames", "Frames to the gateway.", counters.framesOut)
        page.counter("ladle_link_received_bytes", "Bytes from the gateway.", counters.bytesIn)
        page.counter("ladle_link_sent_bytes", "Bytes to the gateway.", counters.bytesOut)
        page.counter("ladle_link_lost_events", "Events the gateway numbered and we never saw.", counters.lostEvents)
        page.counters(
            "ladle_link_odd_frames",
            "Frames that were not understood.",
            [
                (["kind": "protocol"], counters.protocolErrors), (["kind": "unreadable"], counters.unreadableFrames),
                (["kind": "unknown"], counters.unknownFrames), (["kind": "unasked"], counters.unknownAnswers),
                (["kind": "late"], counters.lateAnswers),
            ]
        )
        page.gauge(
            "ladle_link_clock_skew_seconds",
            "How far the gateway's clock is ahead of ours.",
            seconds: Double(clockSkewMs(on: loop)) / 1000
        )
        page.gauge("ladle_link_calls_pending", "Requests the gateway has not answered yet.", pendingCalls)
    }
}
