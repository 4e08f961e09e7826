import EventLoops
import Notifications

/// Tells when the disk of the database is almost full. What Ladle writes makes it look, and where somebody would hear of it a timer too,
/// because other programs fill the disk as well.
package final class StorageWatch {
    /// With less room a burst of events or one large message fills the disk.
    package static let leastFreeBytes: UInt64 = 200 << 20
    /// It counts as over above this, so that a disk at the limit is told of once.
    private static let enoughBytes: UInt64 = 300 << 20
    private static let pauseMs: UInt64 = 60_000
    private static let pollMs: Int64 = 600_000

    private let freeBytes: @Sendable () -> UInt64?
    private unowned let service: NotificationService
    private var isLow = false
    private var isLooking = false
    private var lookedAt: UInt64?
    private var timer: TimerID?

    init(_ service: NotificationService, freeBytes: @escaping @Sendable () -> UInt64?) {
        self.service = service
        self.freeBytes = freeBytes
    }

    /// Something was written.
    func written(on loop: isolated EventLoop) {
        if let lookedAt, loop.now < lookedAt + Self.pauseMs * 1_000_000 { return }
        look(on: loop)
    }

    /// The sinks or rules have changed.
    func changed(on loop: isolated EventLoop) {
        if service.wants(.storageLow) {
            if timer == nil { poll(on: loop) }
        } else if let timer {
            loop.cancel(timer)
            self.timer = nil
        }
    }

    private func poll(on loop: isolated EventLoop) {
        look(on: loop)
        timer = loop.after(milliseconds: Self.pollMs) { [weak self] in
            self?.timer = nil
            self?.changed(on: loop)
        }
    }

    /// Beside the loop: a file system may be slow to answer.
    private func look(on loop: isolated EventLoop) {
        guard !isLooking else { return }
        isLooking = true
        lookedAt = loop.now
        service.readBeside(freeBytes, on: loop) { [weak self] free in
            guard let self else { return }
            self.isLooking = false
            guard let free = free ?? nil else { return }
            if free < Self.leastFreeBytes {
                self.tell("\(free >> 20) MiB are free where the database is.", on: loop)
            } else if free >= Self.enoughBytes {
                self.isLow = false
            }
        }
    }

    /// A write found no room.
    func isFull(on loop: isolated EventLoop) {
        tell("The disk of the database is full: no message is taken.", on: loop)
    }

    private func tell(_ text: String, on loop: isolated EventLoop) {
        guard !isLow else { return }
        isLow = true
        service.tellOfStorage(text, on: loop)
    }
}
