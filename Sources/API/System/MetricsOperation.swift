import Basics
import EventLoops
import EventStream
import Gateway
import HTTPModel
import Observability
import Outbox
import Server
import Service
import Store
import Upstream

/// `GET /metrics`: every number somebody keeps anyway, written when it is asked for.
enum MetricsOperation {
    /// Prometheus 3 names its way of escaping names; ours need none, so that either is met.
    static let types = [
        MediaType("text", "plain", parameters: [version("0.0.4")]),
        openMetrics([]),
        openMetrics([MediaType.Parameter(name: "escaping", value: "allow-utf-8")]),
        openMetrics([MediaType.Parameter(name: "escaping", value: "underscores")]),
    ]

    private static func version(_ number: String) -> MediaType.Parameter {
        MediaType.Parameter(name: "version", value: number)
    }

    private static func openMetrics(_ more: [MediaType.Parameter]) -> MediaType {
        MediaType("application", "openmetrics-text", parameters: [version("1.0.0")] + more)
    }

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let format: MetricsFormat = call.answerType.type == "text" ? .prometheus : .openMetrics
        var page = MetricsPage(format)
        MetricsReport(api: api).write(to: &page, on: loop)
        let response = Response(.ok, contentType: format.contentType, body: page.end())
        call.respond(response.adding(.cacheControl, "no-store"), on: loop)
    }
}

private struct MetricsReport {
    let api: HTTPAPI

    func write(to page: inout MetricsPage, on loop: isolated EventLoop) {
        page.info("ladle_build", "The program.", ["version": api.settings.version, "os": Self.system])
        writeLink(to: &page)
        writeOutbox(to: &page, on: loop)
        page.gauge(
            "ladle_runs_active",
            "Runs under way, and messages that wait for their turn at the gateway.",
            api.runs.activeCount
        )
        writeEvents(to: &page)
        api.log.write(to: &page)
        api.writeMetricsOfSources(to: &page)
        writeStore(to: &page)
        page.counter("ladle_log_lines_dropped", "Log lines lost because nobody took them.", api.settings.log.dropped)
        ProcessUsage.write(to: &page)
    }

    private static var system: String {
        #if os(Linux)
        "linux"
        #else
        "macos"
        #endif
    }

    private func writeLink(to page: inout MetricsPage) {
        let link = api.link
        let state = link.status.state
        let counters = link.counters
        page.gauge("ladle_link_up", "1 while the gateway is connected.", state == .online ? 1 : 0)
        page.gauges(
            "ladle_link_state",
            "1 for the state the link is in.",
            LinkState.allCases.map { (["state": $0.rawValue], $0 == state ? 1 : 0) }
        )
        page.gauge(
            "ladle_link_state_since_seconds",
            "When the link came into its state, in Unix time.",
            seconds: Double(link.status.since.milliseconds) / 1000
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
            seconds: Double(link.clockSkewMs) / 1000
        )
        page.gauge("ladle_link_calls_pending", "Requests the gateway has not answered yet.", link.pendingCalls)
    }

    private func writeOutbox(to page: inout MetricsPage, on loop: isolated EventLoop) {
        let outbox = api.outbox
        let summary = outbox.summary(now: loop.wallClock)
        page.gauges(
            "ladle_outbox_entries",
            "Entries that are not done, by what a person calls them.",
            [
                (["state": "pending"], Double(summary.counts.pending)),
                (["state": "unconfirmed"], Double(summary.counts.unconfirmed)),
                (["state": "failed"], Double(summary.counts.failed)),
            ]
        )
        page.gauge(
            "ladle_outbox_oldest_age_seconds",
            "How long the oldest entry has waited; 0 when none waits.",
            seconds: Double(summary.oldestAgeMilliseconds ?? 0) / 1000
        )
        page.gauge(
            "ladle_outbox_readable",
            "0 while nothing is sent because what waits could not be read from the database.",
            outbox.fault == nil ? 1 : 0
        )
        page.counters(
            "ladle_outbox_attempts",
            "Attempts to send, by how they ended.",
            AttemptClass.allCases.map { (["class": $0.rawValue], outbox.attempts[$0] ?? 0) }
        )
        page.counters(
            "ladle_outbox_ended",
            "Entries by the state they ended in.",
            OutboxState.allCases.filter(\.isTerminal).map { (["state": $0.rawValue], outbox.ended[$0] ?? 0) }
        )
    }

    private func writeEvents(to page: inout MetricsPage) {
        let (hub, feed) = (api.hub, api.feed)
        let counters = hub.counters
        page.gauge("ladle_streams_open", "Event streams now open.", hub.count)
        page.counter("ladle_streams", "Event streams opened.", counters.opened)
        page.counters(
            "ladle_stream_resumes",
            "Streams that came with a cursor, by outcome.",
            [(["outcome": "recovered"], counters.recovered), (["outcome": "reset"], counters.resets)]
        )
        page.counter("ladle_stream_cuts", "Streams closed because their reader was too slow.", counters.cut)
        page.counter("ladle_events", "Events handed to streams.", counters.events)
        page.counter("ladle_event_deliveries", "Writes of events to streams.", counters.deliveries)
        page.counter("ladle_events_dropped", "Passing events dropped while the disk stood still.", feed.dropped)
        page.counter("ladle_events_unwritten", "Durable events lost to a failing disk.", feed.failures)
        page.gauge("ladle_event_last_sequence", "Number of the newest durable event.", hub.last.sequence)
    }

    private func writeStore(to page: inout MetricsPage) {
        let feed = api.feed
        let statistics = feed.journal.statistics
        page.gauge(
            "ladle_store_writable",
            "1 while messages can be taken durably.",
            feed.journal.health.refusal == nil && statistics.failing == nil ? 1 : 0
        )
        page.counter("ladle_store_commits", "Synced commits.", statistics.commits)
        page.counter("ladle_store_operations", "Operations in them.", statistics.operations)
        page.counter("ladle_store_failures", "Commits that failed.", statistics.failures)
        page.counter("ladle_store_checkpoints", "Checkpoints of the log.", statistics.checkpoints)
    }
}
