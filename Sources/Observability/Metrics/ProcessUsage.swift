import POSIX

/// The metrics of the process, under the names that Prometheus clients use.
package enum ProcessUsage {
    package static func write(to page: inout MetricsPage) {
        let usage = CurrentProcess.usage
        page.counter("process_cpu_seconds", "User and system CPU time spent.", seconds: usage.cpuSeconds)
        gauge("process_resident_memory_bytes", "Memory in use.", usage.residentBytes, to: &page)
        gauge("process_virtual_memory_bytes", "Address space in use.", usage.virtualBytes, to: &page)
        gauge("process_open_fds", "Open descriptors.", usage.openDescriptors, to: &page)
        gauge("process_max_fds", "Descriptors that may be open.", usage.mostDescriptors, to: &page)
        if usage.startedAt > 0 {
            page.gauge(
                "process_start_time_seconds",
                "When the process started, in Unix time.",
                seconds: usage.startedAt
            )
        }
    }

    private static func gauge(_ name: String, _ help: String, _ value: Int64, to page: inout MetricsPage) {
        if value >= 0 { page.gauge(name, help, value) }
    }
}
