/// Observations counted by fixed upper bounds. Owned by one loop.
package final class Histogram: Metric {
    /// Of a request or a delivery on one host, in seconds.
    package static let seconds: [Double] = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    private let bounds: [Double]
    /// Not cumulative; the last one is above every bound.
    private var counts: [UInt64]
    package private(set) var sum: Double = 0
    package private(set) var count: UInt64 = 0

    /// Bounds in rising order.
    package init(bounds: [Double] = seconds) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "histogram bounds must rise")
        self.bounds = bounds
        counts = [UInt64](repeating: 0, count: bounds.count + 1)
    }

    /// Not a number and negative durations (a clock set back) count as 0.
    package func observe(_ value: Double) {
        let value = value > 0 ? value : 0
        var low = 0
        var high = bounds.count
        while low < high {
            let middle = (low + high) / 2
            if value <= bounds[middle] { high = middle } else { low = middle + 1 }
        }
        counts[low] &+= 1
        count &+= 1
        sum += value
    }

    package func observe(nanoseconds: UInt64) { observe(Double(nanoseconds) / 1e9) }

    package func write(name: String, labels: [UInt8], to text: inout [UInt8]) {
        var total: UInt64 = 0
        for (index, amount) in counts.enumerated() {
            total &+= amount
            let bound = index < bounds.count ? MetricsText.number(bounds[index]) : "+Inf"
            var all = labels
            if !all.isEmpty { all.append(UInt8(ascii: ",")) }
            all.append(contentsOf: "le=\"\(bound)\"".utf8)
            MetricsText.sample(name, "_bucket", all, MetricsText.number(total), to: &text)
        }
        MetricsText.sample(name, "_sum", labels, MetricsText.number(sum), to: &text)
        MetricsText.sample(name, "_count", labels, MetricsText.number(count), to: &text)
    }
}
