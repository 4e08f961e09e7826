import Access
import EventLoops
import EventStream
import HTTPModel
import Observability
import Server
import Service

/// `GET /metrics`: counters that Ladle keeps anyway, written on request.
enum MetricsOperation {
    /// Prometheus 3 names an escaping scheme for metric names; ours need none, so any scheme fits.
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

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        // The numbers cover all sessions.
        guard call.caller.mayUse(session: nil) else { throw Problem(.foreignSession) }
        let format: MetricsFormat = call.answerType.type == "text" ? .prometheus : .openMetrics
        var page = MetricsPage(format)
        write(api, to: &page, on: loop)
        let response = Response(.ok, contentType: format.contentType, body: page.end())
        call.respond(response.adding(.cacheControl, "no-store"), on: loop)
    }

    private static func write(_ api: HTTPAPI, to page: inout MetricsPage, on loop: isolated EventLoop) {
        page.info("ladle_build", "The program.", ["version": api.settings.version, "os": system])
        if api.follower == nil { api.services.writeMetrics(to: &page, on: loop) }
        writeStreams(api.hub, to: &page)
        api.log.write(to: &page)
        api.writeMetricsOfSources(to: &page)
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

    private static func writeStreams(_ hub: EventHub, to page: inout MetricsPage) {
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
        page.gauge("ladle_event_last_sequence", "Number of the newest durable event.", hub.last.sequence)
    }
}
