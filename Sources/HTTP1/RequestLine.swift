import HTTPModel

/// Parses `METHOD SP TARGET SP HTTP/1.x` (RFC 9112 §3) in place, with exactly one blank between the parts.
enum RequestLine {
    /// Fills in the head's method, version and target from the bytes of the line, which begin at `start`.
    /// - Returns: the authority of an absolute-form target, which `Host` must agree with.
    static func parse(
        _ bytes: Span<UInt8>,
        start: Int,
        end: Int,
        into head: inout RequestHead
    ) throws(HTTP1ParseError) -> Range<Int>? {
        // The shortest line is `X / HTTP/1.1`: all indices below lie within these twelve bytes or are checked.
        guard end - start >= 12, bytes[end - 9] == ASCII.space else {
            throw shortLineError(bytes, start: start, end: end)
        }
        head.version = try version(loadWord(bytes, at: end - 8))
        var methodEnd = start
        while methodEnd < end - 9, ASCII.isToken(bytes[methodEnd]) { methodEnd += 1 }
        guard methodEnd > start else { throw .badMethod }
        guard bytes[methodEnd] == ASCII.space else { throw .badMethod }
        guard methodEnd < end - 10 else { throw .badRequestLine }
        head.method = try method(bytes, start: start, length: methodEnd - start)
        let targetStart = methodEnd + 1
        let target = bytes.extracting(targetStart..<end - 9)
        if target[0] == 0x2F || target[0] == 0x2A {
            head.setTarget(
                start: targetStart,
                pathLength: try pathLength(of: target, for: head.method),
                length: target.count
            )
            return nil
        }
        return try absoluteForm(bytes, targetStart..<end - 9, into: &head)
    }

    private static func pathLength(of target: Span<UInt8>, for method: HTTPMethod) throws(HTTP1ParseError) -> Int {
        do throws(RequestTargetError) {
            return try RequestTarget.checkOriginForm(target, asteriskAllowed: method == .options)
        } catch {
            throw .badTarget(error)
        }
    }

    /// Parses an absolute-form target. Every server must accept it (RFC 9112 §3.2.2), although only proxies should get
    /// it.
    private static func absoluteForm(
        _ bytes: Span<UInt8>,
        _ target: Range<Int>,
        into head: inout RequestHead
    ) throws(HTTP1ParseError) -> Range<Int> {
        let prefixes: [[UInt8]] = [Array("http://".utf8), Array("https://".utf8)]
        for prefix in prefixes where target.count > prefix.count {
            var index = 0
            while index < prefix.count, ASCII.lowercased(bytes[target.lowerBound + index]) == prefix[index] {
                index += 1
            }
            guard index == prefix.count else { continue }
            let authorityStart = target.lowerBound + prefix.count
            var authorityEnd = authorityStart
            while authorityEnd < target.upperBound, bytes[authorityEnd] != 0x2F {
                // A query or fragment follows the authority directly: the path is missing.
                guard RequestTarget.allows(bytes[authorityEnd]), bytes[authorityEnd] != 0x3F else {
                    throw .badTarget(.notOriginForm)
                }
                authorityEnd += 1
            }
            if authorityEnd == target.upperBound {
                // A missing path means `/`; the last slash of the scheme's `://` stands in for it.
                head.setTarget(start: authorityStart - 1, pathLength: 1, length: 1)
            } else {
                let path = bytes.extracting(authorityEnd..<target.upperBound)
                let length = try pathLength(of: path, for: head.method)
                head.setTarget(start: authorityEnd, pathLength: length, length: path.count)
            }
            return authorityStart..<authorityEnd
        }
        throw .badTarget(.notOriginForm)
    }

    private static func version(_ word: UInt64) throws(HTTP1ParseError) -> HTTPVersion {
        // "HTTP/1.1" and "HTTP/1.0" as little-endian words.
        switch word {
        case 0x312E_312F_5054_5448: return .http11
        case 0x302E_312F_5054_5448: return .http10
        default:
            let isVersion =
                word & 0x00FF_00FF_FFFF_FFFF == 0x002E_002F_5054_5448
                && ASCII.isDigit(UInt8(truncatingIfNeeded: word >> 40))
                && ASCII.isDigit(UInt8(truncatingIfNeeded: word >> 56))
            throw isVersion ? .unsupportedVersion : .badVersion
        }
    }

    private static func method(
        _ bytes: Span<UInt8>,
        start: Int,
        length: Int
    ) throws(HTTP1ParseError) -> HTTPMethod {
        guard length <= 7 else { throw .unknownMethod }
        let word = loadWord(bytes, at: start) & ((1 << UInt64(length * 8)) - 1)
        switch word {
        case 0x5445_47: return .get
        case 0x4441_4548: return .head
        case 0x5453_4F50: return .post
        case 0x5455_50: return .put
        case 0x4843_5441_50: return .patch
        case 0x4554_454C_4544: return .delete
        case 0x534E_4F49_5450_4F: return .options
        case 0x45_4341_5254: return .trace
        case 0x59_5245_5551: return .query
        default: throw .unknownMethod
        }
    }

    /// Finds the fault in a line that does not end with a blank and a version.
    private static func shortLineError(_ bytes: Span<UInt8>, start: Int, end: Int) -> HTTP1ParseError {
        var index = start
        while index < end, ASCII.isToken(bytes[index]) { index += 1 }
        if index == start || (index < end && bytes[index] != ASCII.space) { return .badMethod }
        var blanks = 0
        var hasMark = false
        for position in start..<end {
            if bytes[position] == ASCII.space { blanks += 1 }
            // The slash of a target or version, or the asterisk of OPTIONS.
            if bytes[position] == 0x2F || bytes[position] == 0x2A { hasMark = true }
        }
        guard blanks == 2 else { return .badRequestLine }
        return hasMark ? .badVersion : .notHTTP
    }
}
