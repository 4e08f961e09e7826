import CSystem
package import POSIX

/// Reports that an address of this host was added or removed, if the kernel announces it (Linux). The owner looks up
/// the change itself: a burst may lose single messages, but never the report that something changed.
package final class AddressWatch: Pollable {
    private let descriptor: Descriptor
    private let changed: () -> Void
    private var registration: Registration?
    private var buffer = [UInt8](repeating: 0, count: 8192)

    package init(on loop: isolated EventLoop, changed: @escaping () -> Void) throws(SystemError) {
        descriptor = Descriptor(try SystemError.check(cs_address_changes(), "watch this host's addresses"))
        self.changed = changed
        registration = try loop.watch(descriptor, for: .readable, owner: self)
    }

    package func ready(_ readiness: Readiness, on loop: isolated EventLoop) {
        var reads = 0
        // An error other than "nothing more" counts as a change too: the kernel had more messages than fit.
        while reads < 64, unsafe cs_read_some(descriptor.number, &buffer, buffer.count) > 0 { reads += 1 }
        changed()
    }

    package func close(on loop: isolated EventLoop) {
        if let registration { loop.forget(registration, of: descriptor) }
        registration = nil
    }
}
