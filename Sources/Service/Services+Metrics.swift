import Basics
package import EventLoops
import Notifications
package import Observability
import Outbox
import Runs
import Store

extension Services {
    /// Writes the metrics of the link, the outbox, the runs and the store.
    package func writeMetrics(to page: inout MetricsPage, on loop: isolated EventLoop) {
        gateway.writeMetrics(to: &page, on: loop)
        writeOutbox(to: &page, now: loop.wallClock)
        page.gauge(
            "ladle_runs_active",
            "Runs under way, and messages that wait for their turn at the gateway.",
            runs.activeCount
        )
        page.gauge("ladle_approvals_pending", "Approvals that wait for a decision.", approvals.pendingCount())
        page.counters(
            "ladle_approvals_ended",
            "Approvals by the state they ended in.",
            Approval.State.allCases.filter { $0 != .pending }.map {
                (["state": $0.rawValue], approvals.endings[$0] ?? 0)
            }
        )
        page.counters(
            "ladle_node_calls",
            "Commands of nodes that were asked for, by how that ended.",
            NodeOutcome.allCases.map { (["outcome": $0.rawValue], nodeInvoker.counts[$0] ?? 0) }
        )
        page.counter("ladle_glance_builds", "Times that a glance was made anew.", glance.builds)
        writeNotifications(to: &page)
        if let broker { writeBroker(broker, to: &page, on: loop) }
        writeStore(to: &page)
    }

    private func writeBroker(_ broker: BrokerService, to page: inout MetricsPage, on loop: isolated EventLoop) {
        let (state, counters) = (broker.condition(on: loop).state, broker.counters)
        page.gauges(
            "ladle_mqtt_state",
            "1 for the state of the connection to the MQTT broker.",
            BrokerCondition.State.allCases.map { (["state": $0.rawValue], $0 == state ? 1 : 0) }
        )
        page.counter("ladle_mqtt_connections", "Connections that the broker accepted.", counters.connections)
        page.counter("ladle_mqtt_published", "Messages published.", counters.published)
        page.counter("ladle_mqtt_acknowledged", "Messages that the broker acknowledged.", counters.acknowledged)
        page.counter("ladle_mqtt_refused", "Messages that the broker refused.", counters.refused)
        page.counter(
            "ladle_mqtt_dropped",
            "Messages that were too large, or too old when there was room.",
            counters.dropped
        )
        page.gauge("ladle_mqtt_lag_events", "Events of the log that the broker does not have.", counters.lag)
    }

    private func writeNotifications(to page: inout MetricsPage) {
        page.counters(
            "ladle_notifications",
            "Notifications made, by their type.",
            NotificationType.allCases.map { (["type": $0.rawValue], notificationMaker.made[$0] ?? 0) }
        )
        page.counters(
            "ladle_notification_deliveries",
            "Deliveries by sink and by how they ended.",
            notificationPreferences.sinks.flatMap { sink in
                SinkDelivery.State.allCases.filter { !$0.isOpen }.map { state in
                    (
                        ["sink": sink.name, "result": state.rawValue],
                        notificationDeliveries.results[sink.id]?[state] ?? 0
                    )
                }
            }
        )
        page.gauge(
            "ladle_notification_deliveries_waiting",
            "Deliveries that are still to be made.",
            notifications.summary.waiting
        )
        page.gauge(
            "ladle_notification_sinks_disabled",
            "Sinks that their failures have disabled.",
            notifications.summary.disabled.count
        )
    }

    private func writeOutbox(to page: inout MetricsPage, now: Timestamp) {
        let summary = outbox.summary(now: now)
        page.gauges(
            "ladle_outbox_entries",
            "Entries that are not done, by what a person calls them.",
            [
                (["state": "pending"], Double(summary.counts.pending)),
                (["state": "unconfirmed"], Double(summary.counts.unconfirmed)),
                (["state": "failed"], Double(summary.counts.failed)),
            ]
        )
        page.gauge(
            "ladle_outbox_oldest_age_seconds",
            "How long the oldest entry has waited; 0 when none waits.",
            seconds: Double(summary.oldestAgeMilliseconds ?? 0) / 1000
        )
        page.gauge(
            "ladle_outbox_readable",
            "0 while nothing is sent because what waits could not be read from the database.",
            outbox.fault == nil ? 1 : 0
        )
        page.counters(
            "ladle_outbox_attempts",
            "Attempts to send, by how they ended.",
            AttemptClass.allCases.map { (["class": $0.rawValue], outbox.attempts[$0] ?? 0) }
        )
        page.counters(
            "ladle_outbox_ended",
            "Entries by the state they ended in.",
            OutboxState.allCases.filter(\.hasEnded).map { (["state": $0.rawValue], outbox.ended[$0] ?? 0) }
        )
    }

    private func writeStore(to page: inout MetricsPage) {
        let statistics = feed.journal.statistics
        page.counter("ladle_events_dropped", "Passing events dropped while the disk stood still.", feed.dropped)
        page.counter("ladle_events_unwritten", "Durable events lost to a failing disk.", feed.failures)
        page.gauge(
            "ladle_store_writable",
            "1 while messages can be taken durably.",
            feed.journal.health.refusal == nil && statistics.failing == nil ? 1 : 0
        )
        page.counter("ladle_store_commits", "Synced commits.", statistics.commits)
        page.counter("ladle_store_operations", "Operations in them.", statistics.operations)
        page.counter("ladle_store_failures", "Commits that failed.", statistics.failures)
        page.counter("ladle_store_checkpoints", "Checkpoints of the log.", statistics.checkpoints)
        page.counter(
            "ladle_store_reconnects",
            "Connections to a database server after the first.",
            statistics.reconnects
        )
        page.counter("ladle_store_doubts", "Commits whose answer was lost, and that were looked up.", statistics.doubts)
        page.counter("ladle_store_losses", "Starts that found confirmed commits lost.", statistics.losses)
    }
}
