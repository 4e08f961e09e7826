import Basics
import EventLoops
import EventStream
import Store

/// Writes to the broker.
protocol BrokerPublisherOwner: AnyObject {
    func publish(_ event: StreamEvent, after previous: EventID?, token: UInt64, on loop: isolated EventLoop)
        -> BrokerPublisher.Outcome
    /// The log does not have the broker's place any more, and goes on with its oldest event.
    func lostPlace(_ bounds: EventLogBounds, requested: EventID?, on loop: isolated EventLoop)
}

/// Publishes the durable events that were selected, in the order of the log. The log is the queue: an event leaves it for the broker when
/// the window has room, and counts as published once the broker has acknowledged it and all before it. A break of the connection or of
/// Ladle begins again behind the last such event, so an event may come twice, under the same id.
final class BrokerPublisher {
    enum Outcome {
        /// Nothing may be published now.
        case full
        /// `ended` follows.
        case sent
        /// Nothing follows: it went without acknowledgement, or cannot be published at all.
        case over
    }

    private struct Sent {
        let token: UInt64
        let id: EventID
        /// On the loop's clock.
        let at: UInt64
        var isOver = false
    }

    private static let space = "mqtt"
    private static let pageEvents = 200
    private static let pageBytes = 256 << 10
    /// The recorder of a home gets no more, also after hours.
    private static let mostPerSecond: UInt64 = 500
    private static let retryMs: Int64 = 1_000
    private static let savedMs: Int64 = 1_000
    /// The log keeps many times as many events.
    private static let mostUnsaved: Int64 = 5_000

    private let feed: EventFeed
    private let reader: EventReader
    private let filter: EventFilter
    private let sessions: SessionSet?
    /// The name of the broker's cursor on disk.
    private let name: String
    weak var owner: (any BrokerPublisherOwner)?

    /// A position in the log, and the last event published before it.
    private struct Mark: Equatable {
        var place: EventID
        var last: EventID?

        init(_ place: EventID, last: EventID?) { (self.place, self.last) = (place, last) }

        /// As the disk has it.
        init?(_ bytes: [UInt8]) {
            let parts = bytes.split(separator: 0x20).compactMap { try? EventID(parsing: $0) }
            guard let place = parts.first else { return nil }
            self.init(place, last: parts.dropFirst().first)
        }

        var bytes: [UInt8] { Array([place, last].compactMap(\.self).map(\.text).joined(separator: " ").utf8) }
    }

    /// The broker has every selected event up to here. Nil until the disk has told.
    private var done: Mark?
    /// The events up to here were read and handed to the connection, or wait in `page`.
    private var read: Mark?
    private var page: ArraySlice<StreamEvent> = []
    private var sent: ArraySlice<Sent> = []
    private var rate = TokenBucket(burst: mostPerSecond, perSecond: mostPerSecond)
    private var isConnected = false
    /// Grows with each connection: a page that was read for an earlier one is not used.
    private var connection = 0
    private var newest: Int64 = 0
    private var isReading = false
    /// An event was written since the log was read to its end.
    private var isBehind = true
    private var timer: TimerID?
    private var saveTimer: TimerID?
    /// As the disk has it.
    private var saved: Mark?
    /// On the loop's clock: since when an event waits.
    private var waitingSince: UInt64?

    init(
        _ reader: EventReader,
        feed: EventFeed,
        filter: EventFilter,
        sessions: SessionSet?,
        name: String
    ) {
        (self.reader, self.feed, self.filter, self.sessions, self.name) = (reader, feed, filter, sessions, name)
    }

    /// The cursor of an earlier process. A broker that has none begins at the end of the log: what is old helps nobody.
    func load(on loop: isolated EventLoop, then done: @escaping () -> Void) {
        let name = name
        feed.readSaved("mqtt", on: loop) { tables in
            (try tables.values.get(space: Self.space, name: name)?.bytes, try tables.events.bounds().newest)
        } failed: { _ in
        } completion: { [weak self] (bytes, newest) in
            guard let self else { return }
            self.newest = newest.sequence
            self.saved = bytes.flatMap { Mark($0) }
            if let saved = self.saved {
                self.done = saved
                return done()
            }
            // On disk before the first event is published: an end of Ladle soon after must not begin behind what came meanwhile.
            let start = Mark(newest, last: nil)
            (self.done, self.saved) = (start, start)
            self.write(start, on: loop, then: done)
        }
    }

    // MARK: The connection

    func connected(on loop: isolated EventLoop) {
        isConnected = true
        connection += 1
        isReading = false
        (read, isBehind) = (done, true)
        (page, sent) = ([], [])
        proceed(on: loop)
    }

    func disconnected(on loop: isolated EventLoop) {
        isConnected = false
        (page, sent) = ([], [])
        if let timer { loop.cancel(timer) }
        timer = nil
        save(on: loop)
    }

    /// An event was written to the log.
    func grew(by event: StreamEvent, on loop: isolated EventLoop) {
        newest = event.id?.sequence ?? newest
        guard admits(event) else { return }
        isBehind = true
        if waitingSince == nil { waitingSince = loop.now }
        proceed(on: loop)
    }

    /// The broker has the message with this token, or will never take it.
    func ended(_ token: UInt64, on loop: isolated EventLoop) {
        guard let index = sent.firstIndex(where: { $0.token == token }) else { return }
        sent[index].isOver = true
        advance(on: loop)
        saveLater(on: loop)
        proceed(on: loop)
        restIfDone(on: loop)
    }

    private func advance(on loop: isolated EventLoop) {
        guard sent.first?.isOver == true else { return }
        while let first = sent.first, first.isOver {
            done = Mark(first.id, last: first.id)
            sent.removeFirst()
        }
        if waitingSince != nil { waitingSince = sent.first?.at ?? loop.now }
    }

    /// How many seconds the oldest event waits that the broker does not have.
    func lagSeconds(on loop: isolated EventLoop) -> Int64 {
        waitingSince.map { Int64((loop.now - $0) / 1_000_000_000) } ?? 0
    }

    /// How many events of the log lie behind the broker's place, while one of them waits.
    var lagEvents: Int {
        guard waitingSince != nil, let done else { return 0 }
        return Int(clamping: max(newest - done.place.sequence, 1))
    }

    // MARK: Publishing

    func proceed(on loop: isolated EventLoop) {
        guard isConnected, timer == nil else { return }
        while let event = page.first {
            guard let id = event.id else {
                page.removeFirst()
                continue
            }
            guard rate.take(now: loop.now) else { return later(100, on: loop) }
            let token = UInt64(bitPattern: id.sequence)
            let outcome = owner?.publish(event, after: read?.last, token: token, on: loop) ?? .full
            if outcome == .full { return }
            sent.append(Sent(token: token, id: id, at: loop.now, isOver: outcome == .over))
            advance(on: loop)
            page.removeFirst()
            read?.last = id
        }
        readMore(on: loop)
    }

    private func admits(_ event: StreamEvent) -> Bool {
        guard event.id != nil, filter.admits(type: event.type, session: event.session, run: event.run) else {
            return false
        }
        guard let sessions else { return true }
        return event.session.map { sessions.contains($0) } ?? false
    }

    private func readMore(on loop: isolated EventLoop) {
        guard isBehind, !isReading, let place = read?.place else { return }
        loop.start { [weak self] in await self?.readPage(after: place, on: loop) }
    }

    private func readPage(after place: EventID, on loop: isolated EventLoop) async {
        (isReading, isBehind) = (true, false)
        let before = connection
        let reading = try? await reader.read(
            after: place,
            filter: filter,
            limit: Self.pageEvents,
            bytes: Self.pageBytes,
            on: loop
        )
        guard isConnected, connection == before else { return }
        isReading = false
        switch reading {
        case .page(let page)?: take(page, on: loop)
        case .outside(let bounds)?: begin(again: bounds, on: loop)
        case nil:
            isBehind = true
            later(Self.retryMs, on: loop)
        }
    }

    private func take(_ found: EventReader.Page, on loop: isolated EventLoop) {
        if !found.isEnd { isBehind = true }
        read?.place = found.next
        page = found.events.filter(admits)[...]
        proceed(on: loop)
        restIfDone(on: loop)
    }

    /// Nothing waits: the events up to here that were not selected need not be looked at again.
    private func restIfDone(on loop: isolated EventLoop) {
        guard page.isEmpty, sent.isEmpty, !isBehind, !isReading, let read else { return }
        waitingSince = nil
        done = read
        if read.place.sequence - (saved?.place.sequence ?? 0) > Self.mostUnsaved { saveLater(on: loop) }
    }

    /// The log does not have the place any more: the broker was away too long, or the database is another one.
    private func begin(again bounds: EventLogBounds, on loop: isolated EventLoop) {
        owner?.lostPlace(bounds, requested: read?.place, on: loop)
        var place = bounds.newest
        if let first = bounds.oldest { place = EventID(epoch: first.epoch, sequence: max(first.sequence - 1, 0)) }
        (done, read, isBehind) = (Mark(place, last: nil), Mark(place, last: nil), true)
        proceed(on: loop)
    }

    private func later(_ milliseconds: Int64, on loop: isolated EventLoop) {
        guard timer == nil else { return }
        timer = loop.after(milliseconds: milliseconds) { [weak self] in
            guard let self else { return }
            self.timer = nil
            self.proceed(on: loop)
        }
    }

    // MARK: The cursor on disk

    /// Late enough to be rare: what a crash forgets is published twice.
    private func saveLater(on loop: isolated EventLoop) {
        guard saveTimer == nil else { return }
        saveTimer = loop.after(milliseconds: Self.savedMs) { [weak self] in
            guard let self else { return }
            self.saveTimer = nil
            self.save(on: loop)
        }
    }

    func save(on loop: isolated EventLoop) {
        if let saveTimer { loop.cancel(saveTimer) }
        saveTimer = nil
        guard let done, done != saved else { return }
        saved = done
        write(done, on: loop) {}
    }

    private func write(_ mark: Mark, on loop: isolated EventLoop, then done: @escaping () -> Void) {
        let (name, bytes) = (name, mark.bytes)
        feed.commit(on: loop) { transaction in
            try transaction.values.set(bytes, space: Self.space, name: name, at: transaction.now)
        } completion: { _ in
            done()
        }
    }
}
