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
