import CSystem
package import POSIX

/// Tells when an address of this host has come or gone, where the kernel says so (Linux). What has changed is for others to
/// look up: messages may be lost when many come at once, the news that there were some is not.
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
        // An error other than "nothing more" is news too: the kernel had more to say than fits.
        while reads < 64, unsafe cs_read_some(descriptor.number, &buffer, buffer.count) > 0 { reads += 1 }
        changed()
    }

    package func close(on loop: isolated EventLoop) {
        if let registration { loop.forget(registration, of: descriptor) }
        registration = nil
    }
}
