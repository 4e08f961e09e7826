import Basics

/// One page of metrics, written on request. Each part of the program keeps its own plain counters.
///
/// Names are given without the suffixes the format adds (`_total`, `_info`, `_bucket`). Each name is written once, with
/// all its series.
package struct MetricsPage {
    package typealias Labels = KeyValuePairs<String, String>

    private enum Kind: String {
        case counter, gauge, histogram, info
    }

    package let format: MetricsFormat
    private var text: [UInt8] = []

    package init(_ format: MetricsFormat) {
        self.format = format
        text.reserveCapacity(16 << 10)
    }

    /// The whole page.
    package consuming func end() -> [UInt8] {
        if format == .openMetrics { text.append(ascii: "# EOF\n") }
        return text
    }

    package mutating func counter(_ name: String, _ help: String, _ value: some BinaryInteger) {
        counters(name, help, [([:], UInt64(clamping: value))])
    }

    /// A counter in seconds.
    package mutating func counter(_ name: String, _ help: String, seconds: Double) {
        head(name, help, .counter)
        sample(name, "_total", [:], Self.number(seconds))
    }

    package mutating func counters(_ name: String, _ help: String, _ series: [(Labels, UInt64)]) {
        head(name, help, .counter)
        for (labels, value) in series { sample(name, "_total", labels, String(value)) }
    }

    package mutating func gauge(_ name: String, _ help: String, _ value: some BinaryInteger) {
        gauges(name, help, [([:], Double(value))])
    }

    package mutating func gauge(_ name: String, _ help: String, seconds: Double) {
        gauges(name, help, [([:], seconds)])
    }

    package mutating func gauges(_ name: String, _ help: String, _ series: [(Labels, Double)]) {
        head(name, help, .gauge)
        for (labels, value) in series { sample(name, "", labels, Self.number(value)) }
    }

    /// Constant facts, written as labels of the value 1.
    package mutating func info(_ name: String, _ help: String, _ facts: Labels) {
        head(name, help, .info)
        sample(name, "_info", facts, "1")
    }

    /// Histograms in seconds.
    package mutating func histograms(_ name: String, _ help: String, _ series: [(Labels, Histogram)]) {
        head(name, help, .histogram)
        for (labels, histogram) in series {
            var total: UInt64 = 0
            for (place, amount) in histogram.counts.enumerated() {
                total &+= amount
                let bound =
                    place < Histogram.bounds.count ? Self.number(Double(Histogram.bounds[place]) / 1e9) : "+Inf"
                sample(name, "_bucket", labels, String(total), bound: bound)
            }
            sample(name, "_sum", labels, Self.number(Double(histogram.nanoseconds) / 1e9))
            sample(name, "_count", labels, String(total))
        }
    }

    // MARK: Lines

    private mutating func head(_ name: String, _ help: String, _ kind: Kind) {
        let isOld = format == .prometheus
        let family =
            switch kind {
            case .counter where isOld: name + "_total"
            case .info where isOld: name + "_info"
            default: name
            }
        text.append(ascii: "# HELP \(family) ")
        escape(help, quotes: !isOld)
        text.append(ascii: "\n# TYPE \(family) \(kind == .info && isOld ? "gauge" : kind.rawValue)\n")
    }

    private mutating func sample(
        _ name: String,
        _ suffix: String,
        _ labels: Labels,
        _ value: String,
        bound: String? = nil
    ) {
        text.append(ascii: name)
        text.append(ascii: suffix)
        var opening = UInt8(ascii: "{")
        func next(_ label: String, _ value: String) {
            text.append(opening)
            opening = UInt8(ascii: ",")
            text.append(ascii: label)
            text.append(ascii: "=\"")
            escape(value, quotes: true)
            text.append(UInt8(ascii: "\""))
        }
        for (label, value) in labels { next(label, value) }
        if let bound { next("le", bound) }
        if opening == UInt8(ascii: ",") { text.append(UInt8(ascii: "}")) }
        text.append(UInt8(ascii: " "))
        text.append(ascii: value)
        text.append(0x0A)
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return value.description
    }

    /// Escapes backslash and line feed everywhere, and the quotation mark in labels and in OpenMetrics help texts.
    private mutating func escape(_ value: String, quotes: Bool) {
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): text.append(ascii: "\\\\")
            case 0x0A: text.append(ascii: "\\n")
            case UInt8(ascii: "\"") where quotes: text.append(ascii: "\\\"")
            default: text.append(byte)
            }
        }
    }
}
