package import JSONBytes
import Notifications
import Store

/// A delivery as the history shows it.
package struct ShownDelivery: JSONWritable, Sendable {
    private let delivery: StoredDelivery

    init(_ delivery: StoredDelivery) { self.delivery = delivery }

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("sink", delivery.sink)
            // A message that was removed had been sent.
            let isRemoval = delivery.purpose == SinkDelivery.Purpose.remove.rawValue
            object.member("state", isRemoval ? SinkDelivery.State.sent.rawValue : delivery.state)
            object.member("attempts", delivery.attempts)
            object.member("at", delivery.updatedAt)
            if delivery.state == SinkDelivery.State.pending.rawValue { object.member("nextAt", delivery.dueAt) }
            object.member("status", delivery.status)
            object.member("error", delivery.error)
        }
    }
}
