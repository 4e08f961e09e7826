import HTTPModel
import Observability
import POSIX
import Server

/// Counts answers by route and status. A request costs a clock read and a few additions.
struct RequestTally {
    /// Classes by the first digit of the status; 0 means that the client left before there was one.
    private static let classes = ["gone", "1xx", "2xx", "3xx", "4xx", "5xx"]

    private let routes: [Route]
    /// A histogram for each route and class of status; the last row is for requests without a route.
    private var seconds: [Histogram?]
    private var problems: [ProblemCode: UInt64] = [:]

    init(routes: [Route]) {
        self.routes = routes
        seconds = [Histogram?](repeating: nil, count: (routes.count + 1) * Self.classes.count)
    }

    /// - Parameter place: the index of the route in the table; nil if no route matched.
    mutating func count(_ exchange: Exchange, place: Int?) {
        let digit = Int(exchange.status?.code ?? 0) / 100
        let slot = (place ?? routes.count) * Self.classes.count + (digit < Self.classes.count ? digit : 5)
        let end = HostClock.monotonicNanoseconds
        if seconds[slot] == nil { seconds[slot] = Histogram() }
        seconds[slot]?.observe(nanoseconds: end > exchange.startedAt ? end - exchange.startedAt : 0)
        if let code = exchange.problemCode { problems[code, default: 0] += 1 }
    }

    func write(to page: inout MetricsPage) {
        var series: [(MetricsPage.Labels, Histogram)] = []
        for (slot, histogram) in seconds.enumerated() {
            guard let histogram else { continue }
            let place = slot / Self.classes.count
            let route = place < routes.count ? routes[place].operation : "none"
            series.append((["route": route, "status": Self.classes[slot % Self.classes.count]], histogram))
        }
        page.histograms(
            "ladle_http_request_duration_seconds",
            "From a request's head to its answer, by operation and class of status; streams up to their head.",
            series
        )
        page.counters(
            "ladle_http_problems",
            "Requests answered with a problem, by its code.",
            problems.sorted { $0.key.rawValue < $1.key.rawValue }.map { (["code": $0.key.rawValue], $0.value) }
        )
    }
}
