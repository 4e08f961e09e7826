import Basics

/// Every metric of the process, in the order in which they were made. Not Sendable: owned by the loop that answers
/// scrapes; the shared kinds may be written to from elsewhere.
///
/// Names are given without the suffixes the format adds (`_total`, `_bucket`, `_info`); a name that breaks the rules is
/// a programming error and stops the process at start.
package final class MetricsRegistry {
    private struct Entry {
        let name: String
        let help: String
        let type: MetricType
        let write: (String, inout [UInt8]) -> Void
    }

    private static let reserved = ["_total", "_count", "_sum", "_bucket", "_created", "_info", "_gcount", "_gsum"]

    private var entries: [Entry] = []
    private var names: Set<String> = []

    package init() {}

    package func counter(_ name: String, _ help: String) -> Counter { single(name, help, .counter, Counter()) }

    package func sharedCounter(_ name: String, _ help: String) -> SharedCounter {
        single(name, help, .counter, SharedCounter())
    }

    package func gauge(_ name: String, _ help: String) -> Gauge { single(name, help, .gauge, Gauge()) }

    package func sharedGauge(_ name: String, _ help: String) -> SharedGauge {
        single(name, help, .gauge, SharedGauge())
    }

    package func reading(_ name: String, _ help: String, _ read: @escaping () -> Double) {
        _ = single(name, help, .gauge, GaugeReading(read))
    }

    package func histogram(_ name: String, _ help: String, bounds: [Double] = Histogram.seconds) -> Histogram {
        single(name, help, .histogram, Histogram(bounds: bounds))
    }

    package func info(_ name: String, _ help: String, _ facts: KeyValuePairs<String, String>) {
        let family = MetricFamily(labelNames: facts.map(\.key), limit: 1) { Info() }
        _ = family.series(facts.map(\.value))
        add(name, help, .info, labels: facts.map(\.key)) { family.write(name: $0, to: &$1) }
    }

    package func counters(
        _ name: String,
        _ help: String,
        labels: [String],
        limit: Int = 64
    ) -> MetricFamily<Counter> {
        family(name, help, .counter, labels, limit) { Counter() }
    }

    package func gauges(_ name: String, _ help: String, labels: [String], limit: Int = 64) -> MetricFamily<Gauge> {
        family(name, help, .gauge, labels, limit) { Gauge() }
    }

    package func histograms(
        _ name: String,
        _ help: String,
        labels: [String],
        bounds: [Double] = Histogram.seconds,
        limit: Int = 64
    ) -> MetricFamily<Histogram> {
        family(name, help, .histogram, labels, limit) { Histogram(bounds: bounds) }
    }

    /// The whole exposition.
    package func write(_ format: MetricsFormat, to text: inout [UInt8]) {
        for entry in entries {
            let family: String =
                switch (format, entry.type) {
                case (.prometheus, .counter): entry.name + "_total"
                case (.prometheus, .info): entry.name + "_info"
                default: entry.name
                }
            let type: MetricType = format == .prometheus && entry.type == .info ? .gauge : entry.type
            text.append(ascii: "# HELP \(family) ")
            MetricsText.escape(entry.help, quotes: format == .openMetrics, to: &text)
            text.append(ascii: "\n# TYPE \(family) \(type.rawValue)\n")
            entry.write(entry.name, &text)
        }
        if format == .openMetrics { text.append(ascii: "# EOF\n") }
    }

    private func single<Value: Metric>(_ name: String, _ help: String, _ type: MetricType, _ metric: Value) -> Value {
        add(name, help, type, labels: []) { metric.write(name: $0, labels: [], to: &$1) }
        return metric
    }

    private func family<Value: Metric>(
        _ name: String,
        _ help: String,
        _ type: MetricType,
        _ labels: [String],
        _ limit: Int,
        _ make: @escaping () -> Value
    ) -> MetricFamily<Value> {
        let family = MetricFamily(labelNames: labels, limit: limit, make: make)
        add(name, help, type, labels: labels) { family.write(name: $0, to: &$1) }
        return family
    }

    private func add(
        _ name: String,
        _ help: String,
        _ type: MetricType,
        labels: [String],
        _ write: @escaping (String, inout [UInt8]) -> Void
    ) {
        precondition(Self.isName(name) && !Self.reserved.contains(where: name.hasSuffix), "metric name \(name)")
        precondition(labels.allSatisfy { Self.isName($0) && $0 != "le" && !$0.hasPrefix("__") }, "labels of \(name)")
        precondition(!help.isEmpty, "help of \(name)")
        precondition(names.insert(name).inserted, "\(name) twice")
        entries.append(Entry(name: name, help: help, type: type, write: write))
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, first == 0x5F || (0x61...0x7A).contains(first) else { return false }
        return text.utf8.allSatisfy { $0 == 0x5F || (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    }
}
