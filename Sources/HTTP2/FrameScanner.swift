import Basics

/// Checks the frame headers of the input before nghttp2 sees them, for the rules that nghttp2 1.52 does not enforce.
///
/// The scanner trusts the stated lengths: a frame over 16 KiB ends the connection, so nothing after it matters.
struct FrameScanner {
    enum Violation: Equatable {
        case limit(HTTP2Abuse)
        /// The peer uses a stream id that it skipped earlier (RFC 9113 §5.1.1).
        case skippedStream
        /// A CONTINUATION frame is too large; the library checks the size of every other frame.
        case frameSize
        /// The padding of a DATA frame is too long (RFC 9113 §6.1); the library checks it only on open streams.
        case padding
    }

    private enum State {
        case preface(remaining: Int)
        case header(PartialHeader)
        case payload(remaining: Int)
        /// The byte that gives the padding length of this DATA frame.
        case padding(of: Int)
    }

    private var state = State.preface(remaining: HTTP2Preface.bytes.count)
    private var isBlockOpen = false
    /// The frame whose payload is arriving is the last one of a head.
    private var endsBlock = false
    private var streams = SkippedStreams()
    private let maximumContinuations: Int
    /// CONTINUATION frames since the last HEADERS.
    private var continuations = 0
    private var pings: TokenBucket
    private var settings: TokenBucket
    private var emptyData: TokenBucket
    private var resets: TokenBucket
    private var priorities: TokenBucket
    private var unknown: TokenBucket
    private var windowUpdates: TokenBucket
    /// Bytes that were sent, and for which no WINDOW_UPDATE has come.
    private var unanswered = 0

    init(limits: HTTP2Limits) {
        maximumContinuations = limits.continuations
        pings = limits.pings
        settings = limits.settings
        emptyData = limits.emptyData
        resets = limits.resets
        priorities = limits.priorities
        unknown = limits.unknownFrames
        windowUpdates = limits.windowUpdates
    }

    /// Bytes left for the peer, which opens its windows again for them.
    mutating func sent(_ bytes: Int) { unanswered = min(unanswered + bytes, Self.mostUnanswered) }

    /// As much as the windows of a large download hold.
    private static let mostUnanswered = 32 << 20

    private mutating func takeUpdate(now: UInt64) -> Bool {
        guard unanswered >= HTTP2Limits.updateBytes else { return windowUpdates.take(now: now) }
        unanswered -= HTTP2Limits.updateBytes
        return true
    }

    /// The preface or a head has begun and is not complete.
    var isHeadOpen: Bool {
        if case .preface = state { true } else { isBlockOpen }
    }

    /// Scans `input` and stops after the first byte that breaks a rule.
    /// - Returns: the violation, and how many bytes come before that byte.
    mutating func scan(_ input: Span<UInt8>, now: UInt64) -> (violation: Violation, fed: Int)? {
        var position = 0
        while position < input.count {
            switch state {
            case .preface(let remaining):
                let step = min(remaining, input.count - position)
                position += step
                state = step == remaining ? .header(PartialHeader()) : .preface(remaining: remaining - step)
            case .payload(let remaining):
                let step = min(remaining, input.count - position)
                position += step
                if step == remaining { endFrame() } else { state = .payload(remaining: remaining - step) }
            case .padding(let length):
                position += 1
                state = length == 1 ? .header(PartialHeader()) : .payload(remaining: length - 1)
                if Int(input[position - 1]) >= length { return (.padding, position - 1) }
            case .header(var header):
                while !header.isComplete, position < input.count {
                    header.append(input[position])
                    position += 1
                }
                guard header.isComplete else {
                    state = .header(header)
                    return nil
                }
                let frame = header.frame
                if frame.kind == .headers { isBlockOpen = true }
                endsBlock = frame.endsHead
                if frame.length == 0 { endFrame() } else { state = .payload(remaining: frame.length) }
                if let violation = check(frame, now: now) { return (violation, position - 1) }
                if frame.kind == .data, frame.isPadded { state = .padding(of: frame.length) }
            }
        }
        return nil
    }

    private mutating func endFrame() {
        state = .header(PartialHeader())
        if endsBlock { isBlockOpen = false }
    }

    private mutating func check(_ frame: FrameHeader, now: UInt64) -> Violation? {
        switch frame.kind {
        case .data:
            if frame.isPadded, frame.length == 0 { return .padding }
            return frame.mayCarryNothing && !emptyData.take(now: now) ? .limit(.emptyData) : nil
        case .headers:
            continuations = 0
            return streams.open(frame.stream) ? nil : .skippedStream
        case .ping:
            return !frame.isAcknowledgement && !pings.take(now: now) ? .limit(.pings) : nil
        case .settings:
            return !frame.isAcknowledgement && !settings.take(now: now) ? .limit(.settings) : nil
        case .priority, .priorityUpdate:
            return priorities.take(now: now) ? nil : .limit(.priorities)
        case .continuation:
            if frame.length > FrameHeader.largest { return .frameSize }
            continuations += 1
            return continuations > maximumContinuations ? .limit(.continuations) : nil
        case .resetStream:
            return resets.take(now: now) ? nil : .limit(.resets)
        case .windowUpdate:
            return takeUpdate(now: now) ? nil : .limit(.windowUpdates)
        case .pushPromise, .goAway:
            return nil
        case nil:
            return unknown.take(now: now) ? nil : .limit(.unknownFrames)
        }
    }
}

/// The bytes of a frame header that have arrived so far.
struct PartialHeader {
    /// Length, type and flags, then the stream id; the ninth byte pushes the first one out of the word.
    private var word: UInt64 = 0
    private var first: UInt8 = 0
    private var count = 0

    var isComplete: Bool { count == 9 }

    mutating func append(_ byte: UInt8) {
        if count == 0 { first = byte }
        word = word << 8 | UInt64(byte)
        count += 1
    }

    var frame: FrameHeader {
        FrameHeader(
            length: Int(first) << 16 | Int(word >> 48),
            kind: FrameHeader.Kind(rawValue: UInt8(truncatingIfNeeded: word >> 40)),
            flags: UInt8(truncatingIfNeeded: word >> 32),
            stream: UInt32(truncatingIfNeeded: word) & 0x7fff_ffff
        )
    }
}

/// The nine bytes before every frame (RFC 9113 §4.1).
struct FrameHeader {
    enum Kind: UInt8 {
        case data = 0
        case headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
        /// RFC 9218 §7.1
        case priorityUpdate = 0x10
    }

    /// The largest frame we accept: the protocol's default, which our SETTINGS never change (RFC 9113 §6.5.2).
    static let largest = 1 << 14

    let length: Int
    let kind: Kind?
    let flags: UInt8
    let stream: UInt32

    /// ACK of PING and SETTINGS and END_STREAM of DATA share the lowest bit.
    var isAcknowledgement: Bool { flags & 1 != 0 }
    var endsStream: Bool { flags & 1 != 0 }
    var isPadded: Bool { flags & 8 != 0 }
    var endsHead: Bool { flags & 4 != 0 && (kind == .headers || kind == .continuation) }
    /// Whether this DATA frame may carry no data: it is empty, or small enough to be padding alone.
    var mayCarryNothing: Bool { !endsStream && (length == 0 || isPadded && length <= 256) }

    /// Makes a whole GOAWAY frame (RFC 9113 §6.8).
    static func goAway(last: Int32, _ code: HTTP2ErrorCode) -> [UInt8] {
        var bytes: [UInt8] = [0, 0, 8, Kind.goAway.rawValue, 0, 0, 0, 0, 0]
        for word in [UInt32(bitPattern: last), code.rawValue] {
            for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return bytes
    }
}
