import CSystem

/// The process as the system sees it, under the names every Prometheus client uses.
package enum ProcessUsage {
    package static func write(to page: inout MetricsPage) {
        var usage = cs_process_usage()
        unsafe cs_process_usage(&usage)
        page.counter("process_cpu_seconds", "User and system CPU time spent.", seconds: usage.cpu_seconds)
        gauge("process_resident_memory_bytes", "Memory in use.", usage.resident_bytes, to: &page)
        gauge("process_virtual_memory_bytes", "Address space in use.", usage.virtual_bytes, to: &page)
        gauge("process_open_fds", "Open descriptors.", usage.open_descriptors, to: &page)
        gauge("process_max_fds", "Descriptors that may be open.", usage.most_descriptors, to: &page)
        if usage.started_at > 0 {
            page.gauge(
                "process_start_time_seconds",
                "When the process started, in Unix time.",
                seconds: usage.started_at
            )
        }
    }

    private static func gauge(_ name: String, _ help: String, _ value: Int64, to page: inout MetricsPage) {
        if value >= 0 { page.gauge(name, help, value) }
    }
}
