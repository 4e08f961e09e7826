import Observability
import Testing

struct MetricsTests {
    static func text(_ registry: MetricsRegistry, _ format: MetricsFormat) -> String {
        var bytes: [UInt8] = []
        registry.write(format, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func sample() -> MetricsRegistry {
        let registry = MetricsRegistry()
        registry.info("ladle_build", "What is running.", ["version": "0.1.0", "commit": "a\"b\\c\nd"])
        let requests = registry.counters("ladle_http_requests", "Requests \"answered\".", labels: ["method", "status"])
        requests.with("GET", "200").add(3)
        requests.with("POST", "202").add()
        registry.gauge("ladle_outbox_entries", "Entries waiting.").value = 2
        let seconds = registry.histogram("ladle_flush_seconds", "Publish to flush.", bounds: [0.005, 0.1, 1])
        for value in [0.001, 0.005, 0.05, 5, -1, .nan] { seconds.observe(value) }
        registry.sharedCounter("ladle_log_dropped", "Lines lost.").add(7)
        registry.sharedGauge("ladle_streams", "Open streams.").set(-1)
        registry.reading("ladle_up_seconds", "Since the start.") { 1.5 }
        return registry
    }

    @Test func `the old text form is written to the letter`() {
        #expect(
            Self.text(Self.sample(), .prometheus) == """
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
                # HELP ladle_flush_seconds Publish to flush.
                # TYPE ladle_flush_seconds histogram
                ladle_flush_seconds_bucket{le="0.005"} 4
                ladle_flush_seconds_bucket{le="0.1"} 5
                ladle_flush_seconds_bucket{le="1.0"} 5
                ladle_flush_seconds_bucket{le="+Inf"} 6
                ladle_flush_seconds_sum 5.056
                ladle_flush_seconds_count 6
                # HELP ladle_log_dropped_total Lines lost.
                # TYPE ladle_log_dropped_total counter
                ladle_log_dropped_total 7
                # HELP ladle_streams Open streams.
                # TYPE ladle_streams gauge
                ladle_streams -1.0
                # HELP ladle_up_seconds Since the start.
                # TYPE ladle_up_seconds gauge
                ladle_up_seconds 1.5

                """
        )
    }

    @Test func `OpenMetrics names families without suffix, has info, and ends`() {
        let text = Self.text(Self.sample(), .openMetrics)
        #expect(text.contains("# TYPE ladle_build info\nladle_build_info{"))
        #expect(
            text.contains(
                "# HELP ladle_http_requests Requests \\\"answered\\\".\n# TYPE ladle_http_requests counter\nladle_http_requests_total{"
            )
        )
        #expect(text.hasSuffix("\n# EOF\n"))
        #expect(text.components(separatedByLine: "# EOF") == 1)
    }

    @Test func `label values beyond the limit are counted together`() {
        let registry = MetricsRegistry()
        let family = registry.counters("ladle_x", "X.", labels: ["path"], limit: 3)
        for index in 0..<1000 { family.with("/\(index)").add() }
        let text = Self.text(registry, .prometheus)
        #expect(text.contains("ladle_x_total{path=\"/2\"} 1\n"))
        #expect(text.contains("ladle_x_total{path=\"other\"} 997\n"))
        #expect(text.split(separator: "\n").count == 2 + 4)
    }

    @Test func `the same values are the same series`() {
        let registry = MetricsRegistry()
        let family = registry.gauges("ladle_x", "X.", labels: ["a"])
        #expect(family.with("1") === family.with("1"))
        #expect(family.with("1") !== family.with("2"))
    }

    @Test(arguments: ["", "1a", "Ladle", "ladle-x", "ladle_x_total", "ladle_x_bucket", "ladle_x_info", "ladle x"])
    func `a name against the rules stops the program where it is made`(name: String) async {
        await #expect(processExitsWith: .failure) { [name] in
            _ = MetricsRegistry().counter(name, "Help.")
        }
    }

    @Test func `counting from many threads loses nothing`() async {
        let counter = SharedCounter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<1000 { counter.add() } } }
        }
        #expect(counter.value == 8000)
    }

    @Test func `both forms are read back by a strict reader`() throws {
        for format in [MetricsFormat.prometheus, .openMetrics] {
            try StrictExposition.check(Self.text(Self.sample(), format), openMetrics: format == .openMetrics)
        }
    }
}

extension String {
    fileprivate func components(separatedByLine line: String) -> Int {
        split(separator: "\n").filter { $0 == line }.count
    }
}

/// Reads an exposition as its specification has it, and throws at the first deviation.
enum StrictExposition {
    struct Fault: Error {
        let line: String
        let reason: String
    }

    static func check(_ text: String, openMetrics: Bool) throws {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.popLast() == "" else { throw Fault(line: "", reason: "no line feed at the end") }
        if openMetrics {
            guard lines.popLast() == "# EOF" else { throw Fault(line: "", reason: "no EOF") }
        }
        var family = ""
        var type = ""
        var seenFamilies: Set<String> = []
        var seenSeries: Set<String> = []
        for line in lines {
            if line.hasPrefix("# HELP ") {
                family = String(line.dropFirst(7).prefix { $0 != " " })
                guard seenFamilies.insert(family).inserted else { throw Fault(line: line, reason: "family twice") }
            } else if line.hasPrefix("# TYPE ") {
                let parts = line.split(separator: " ")
                guard parts.count == 4, parts[2] == family else { throw Fault(line: line, reason: "type") }
                type = String(parts[3])
            } else {
                guard let space = line.lastIndex(of: " "), Double(line[line.index(after: space)...]) != nil else {
                    throw Fault(line: line, reason: "no value")
                }
                let series = String(line[..<space])
                guard seenSeries.insert(series).inserted else { throw Fault(line: line, reason: "series twice") }
                let name = String(series.prefix { $0 != "{" })
                let suffixes: [String] =
                    switch (type, openMetrics) {
                    case ("counter", true): ["_total"]
                    case ("info", _): ["_info"]
                    case ("histogram", _): ["_bucket", "_sum", "_count"]
                    default: [""]
                    }
                guard suffixes.contains(where: { family + $0 == name }) else {
                    throw Fault(line: line, reason: "name outside its family")
                }
            }
        }
    }
}
