import Basics
import EventLoops
import Notifications

/// Notifies when the disk of the database is almost full. Ladle's own writes trigger a check, and so does a timer if
/// any sink wants the notification, because other programs fill the disk too.
package final class StorageWatch {
    /// With less free space, a burst of events or one large message fills the disk.
    package static let leastFreeBytes: UInt64 = 200 << 20
    /// Above this the shortage counts as over, so that a disk near the limit is reported once.
    private static let enoughBytes: UInt64 = 300 << 20
    private static let pauseMs: UInt64 = 60_000
    private static let pollMs: Int64 = 600_000

    private let freeBytes: @Sendable () -> UInt64?
    private let feed: EventFeed
    private let audience: Audience
    private let maker: NotificationMaker
    private var isReady = false
    private var isLow = false
    private var isLooking = false
    private var lookedAt: UInt64?
    private var timer: TimerID?

    init(
        feed: EventFeed,
        audience: Audience,
        maker: NotificationMaker,
        freeBytes: @escaping @Sendable () -> UInt64?
    ) {
        self.feed = feed
        self.audience = audience
        self.maker = maker
        self.freeBytes = freeBytes
    }

    /// Called when the rules are known.
    func begin(on loop: isolated EventLoop) {
        isReady = true
        changed(on: loop)
    }

    /// Called after a write.
    func written(on loop: isolated EventLoop) {
        guard isReady else { return }
        if let lookedAt, loop.now < lookedAt + Self.pauseMs * 1_000_000 { return }
        look(on: loop)
    }

    /// Called when the sinks or rules have changed.
    func changed(on loop: isolated EventLoop) {
        if audience.isTold(of: .storageLow) {
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

    /// Checks off the loop, since a file system may be slow to answer.
    private func look(on loop: isolated EventLoop) {
        guard !isLooking else { return }
        isLooking = true
        lookedAt = loop.now
        feed.read(on: loop) { [freeBytes] _ in
            freeBytes()
        } completion: { [weak self] result in
            guard let self else { return }
            self.isLooking = false
            guard let free = (try? result.get()) ?? nil else { return }
            if free < Self.leastFreeBytes {
                self.tell("\(free >> 20) MiB are free where the database is.", on: loop)
            } else if free >= Self.enoughBytes {
                self.isLow = false
            }
        }
    }

    /// Called when a write found no space.
    func writeFailed(on loop: isolated EventLoop) {
        tell("The disk of the database is full: no message is taken.", on: loop)
    }

    private func tell(_ text: String, on loop: isolated EventLoop) {
        guard !isLow else { return }
        isLow = true
        let now = loop.wallClock
        let day = CivilDate(daysSinceEpoch: now.milliseconds.dividedDown(by: 86_400_000)).iso
        let occasion = Occasion(.storageLow, source: "storage/\(day)", at: now, text: text)
        maker.tell(occasion, on: loop) { [maker] in maker.sendUnkept(occasion, on: loop) }
    }
}
