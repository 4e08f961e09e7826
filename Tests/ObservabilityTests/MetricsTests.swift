import Observability
import Testing

struct MetricsTests {
    static func sample(_ format: MetricsFormat) -> String {
        var page = MetricsPage(format)
        page.info("ladle_build", "What is running.", ["version": "0.1.0", "commit": "a\"b\\c\nd"])
        page.counters(
            "ladle_http_requests",
            "Requests \"answered\".",
            [(["method": "GET", "status": "200"], 3), (["method": "POST", "status": "202"], 1)]
        )
        page.gauge("ladle_outbox_entries", "Entries waiting.", 2)
        page.counter("ladle_log_dropped", "Lines lost.", 7)
        page.gauge("ladle_up_seconds", "Since the start.", seconds: 1.5)
        page.counter("process_cpu_seconds", "CPU.", seconds: .infinity)
        return String(decoding: page.end(), as: UTF8.self)
    }

    @Test func `the old text form is written to the letter`() {
        #expect(
            Self.sample(.prometheus) == """
                # HELP ladle_build_info What is running.
                # TYPE ladle_build_info gauge
                ladle_build_info{version="0.1.0",commit="a\\"b\\\\c\\nd"} 1
                # HELP ladle_http_requests_total Requests "answered".
                # TYPE ladle_http_requests_total counter
                ladle_http_requests_total{method="GET",status="200"} 3
                ladle_http_requests_total{method="POST",status="202"} 1
                # HELP ladle_outbox_entries Entries waiting.
                # TYPE ladle_outbox_entries gauge
                ladle_outbox_entries 2.0
                # HELP ladle_log_dropped_total Lines lost.
                # TYPE ladle_log_dropped_total counter
                ladle_log_dropped_total 7
                # HELP ladle_up_seconds Since the start.
                # TYPE ladle_up_seconds gauge
                ladle_up_seconds 1.5
                # HELP process_cpu_seconds_total CPU.
                # TYPE process_cpu_seconds_total counter
                process_cpu_seconds_total +Inf

                """
        )
    }

    @Test func `OpenMetrics names families without suffix, has info, and ends`() {
        let text = Self.sample(.openMetrics)
        #expect(text.contains("# TYPE ladle_build info\nladle_build_info{"))
        #expect(
            text.contains(
                "# HELP ladle_http_requests Requests \\\"answered\\\".\n# TYPE ladle_http_requests counter\nladle_http_requests_total{"
            )
        )
        #expect(text.hasSuffix("\n# EOF\n"))
        #expect(text.split(separator: "\n").count { $0 == "# EOF" } == 1)
    }

    @Test func `a histogram counts up to each bound, and all`() {
        var histogram = Histogram()
        for value: UInt64 in [0, 100_000, 100_001, 3_000_000, 10_000_000_000_000] {
            histogram.observe(nanoseconds: value)
        }
        var page = MetricsPage(.prometheus)
        page.histograms("ladle_flush_seconds", "Publish to flush.", [(["route": "a"], histogram)])
        let lines = String(decoding: page.end(), as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(histogram.count == 5)
        #expect(lines[2] == "ladle_flush_seconds_bucket{route=\"a\",le=\"0.0001\"} 2")
        #expect(lines[3] == "ladle_flush_seconds_bucket{route=\"a\",le=\"0.00025\"} 3")
        #expect(lines[7] == "ladle_flush_seconds_bucket{route=\"a\",le=\"0.005\"} 4")
        #expect(
            lines.suffix(3) == [
                "ladle_flush_seconds_bucket{route=\"a\",le=\"+Inf\"} 5",
                "ladle_flush_seconds_sum{route=\"a\"} 10000.003200001",
                "ladle_flush_seconds_count{route=\"a\"} 5",
            ]
        )
    }

    @Test func `the process tells what it uses`() {
        var page = MetricsPage(.prometheus)
        ProcessUsage.write(to: &page)
        let text = String(decoding: page.end(), as: UTF8.self)
        #expect(text.contains("\nprocess_cpu_seconds_total "))
        #if os(Linux)
        for name in [
            "resident_memory_bytes", "virtual_memory_bytes", "open_fds", "max_fds", "start_time_seconds",
        ] {
            #expect(text.contains("\nprocess_\(name) "), "\(name)")
        }
        #endif
    }
}

struct LogBudgetTests {
    @Test func `a burst passes, then a steady few, and what was left out is told`() {
        var budget = LogBudget(burst: 3, perSecond: 10)
        let now: UInt64 = 5_000_000_000
        #expect((0..<5).map { _ in budget.take(now: now) } == [0, 0, 0, nil, nil])
        #expect(budget.take(now: now + 99_999_999) == nil)
        #expect(budget.take(now: now + 100_000_000) == 3)
        #expect(budget.take(now: now + 100_000_000) == nil)
        #expect((0..<4).map { _ in budget.take(now: now + 10_000_000_000) } == [1, 0, 0, nil])
    }
}
