import Basics
import Synchronization

/// The two text forms Prometheus reads.
package enum MetricsFormat: Sendable {
    /// Text format 0.0.4.
    case prometheus
    /// OpenMetrics 1.0.
    case openMetrics

    package var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }
}

/// One series: a number, or a few, under a name and labels. `labels` is their rendered form without braces.
package protocol Metric: AnyObject {
    func write(name: String, labels: [UInt8], to text: inout [UInt8])
}

/// Counts up. Owned by one loop.
package final class Counter: Metric {
    package private(set) var value: UInt64 = 0

    package init() {}

    package func add(_ amount: UInt64 = 1) { value &+= amount }

    package func write(name: String, labels: [UInt8], to text: inout [UInt8]) {
        MetricsText.sample(name, "_total", labels, MetricsText.number(value), to: &text)
    }
}

/// Counts up from any thread.
package final class SharedCounter: Metric, Sendable {
    private let count = Atomic<UInt64>(0)

    package init() {}

    package var value: UInt64 { count.load(ordering: .relaxed) }

    package func add(_ amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    package func write(name: String, labels: [UInt8], to text: inout [UInt8]) {
        MetricsText.sample(name, "_total", labels, MetricsText.number(value), to: &text)
    }
}

/// Goes up and down. Owned by one loop.
package final class Gauge: Metric {
    package var value: Double = 0

    package init() {}

    package func write(name: String, labels: [UInt8], to text: inout [UInt8]) {
        MetricsText.sample(name, "", labels, MetricsText.number(value), to: &text)
    }
}

/// A whole number that any thread sets.
package final class SharedGauge: Metric, Sendable {
    private let number = Atomic<Int64>(0)

    package init() {}

    package var value: Int64 { number.load(ordering: .relaxed) }

    package func set(_ value: Int64) { number.store(value, ordering: .relaxed) }

    package func add(_ amount: Int64) { number.wrappingAdd(amount, ordering: .relaxed) }

    package func write(name: String, labels: [UInt8], to text: inout [UInt8]) {
        MetricsText.sample(name, "", labels, MetricsText.number(Double(value)), to: &text)
    }
}

/// Read when it is asked for: descriptors, memory, sizes somebody else keeps.
package final class GaugeReading: Metric {
    private let read: () -> Double

    package init(_ read: @escaping () -> Double) {
        self.read = read
    }

    package func write(name: String, labels: [UInt8], to text: inout [UInt8]) {
        MetricsText.sample(name, "", labels, MetricsText.number(read()), to: &text)
    }
}

/// Facts as labels of a constant 1.
package final class Info: Metric {
    package init() {}

    package func write(name: String, labels: [UInt8], to text: inout [UInt8]) {
        MetricsText.sample(name, "_info", labels, MetricsText.number(UInt64(1)), to: &text)
    }
}
