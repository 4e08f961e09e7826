import Basics

enum MetricType: String {
    case counter, gauge, histogram, info
}

/// All series of one name. The number of series is bounded: when label values run out of hand the rest is counted
/// together, under `other` in every label.
package final class MetricFamily<Value: Metric> {
    private let labelNames: [String]
    private let limit: Int
    private let make: () -> Value
    private var order: [(labels: [UInt8], metric: Value)] = []
    private var byValues: [[String]: Value] = [:]

    init(labelNames: [String], limit: Int, make: @escaping () -> Value) {
        self.labelNames = labelNames
        self.limit = limit
        self.make = make
    }

    /// The series of these values, one for each label name. Callers on a hot path keep what they get.
    package func with(_ values: String...) -> Value { series(values) }

    func series(_ values: [String]) -> Value {
        precondition(values.count == labelNames.count, "a value for each label")
        if let known = byValues[values] { return known }
        let isRoom = order.count < limit
        let other = [String](repeating: "other", count: labelNames.count)
        if !isRoom, let known = byValues[other] { return known }
        let admitted = isRoom ? values : other
        let made = make()
        byValues[admitted] = made
        order.append((MetricsText.labels(labelNames, admitted), made))
        return made
    }

    func write(name: String, to text: inout [UInt8]) {
        for entry in order { entry.metric.write(name: name, labels: entry.labels, to: &text) }
    }
}
