/// Writes server-sent events in the one form that every measured client reads the same way: LF only, no block without
/// `data`, one data line for data without line breaks.
package enum SSEEncoder {
    /// The longest event, with its fields. Clients with a line limit break between 200 KiB and 1 MiB; longer events are
    /// sent as a stub with a link.
    package static let maxEventBytes = 131_072

    /// One comment line and no blank line after it: the blank line makes two common clients dispatch an empty event.
    package static let heartbeatComment: [UInt8] = [0x3A, 0x0A]

    /// Appends one event, or nothing and false when it would be longer than `maxEventBytes`.
    /// - Parameter type: the value of `event`.
    /// - Parameter retry: milliseconds; it stands inside this block, because alone it makes clients dispatch nothing
    ///   as an event.
    /// - Parameter data: JSON without raw line breaks becomes one line; line breaks in other data start new lines.
    @discardableResult
    package static func append(
        id: EventID? = nil,
        type: String,
        retry: Int? = nil,
        data: Span<UInt8>,
        to output: inout [UInt8]
    ) -> Bool {
        let start = output.count
        guard data.count <= maxEventBytes else { return false }
        output.reserveCapacity(start + data.count + 96)
        if let id {
            output.append(contentsOf: Prefix.id)
            id.append(to: &output)
            output.append(lf)
        }
        output.append(contentsOf: Prefix.event)
        for byte in type.utf8 where byte >= 0x20 && byte != 0x7F { output.append(byte) }
        output.append(lf)
        if let retry {
            output.append(contentsOf: Prefix.retry)
            output.append(contentsOf: String(max(retry, 0)).utf8)
            output.append(lf)
        }
        appendData(data, to: &output)
        output.append(lf)
        guard output.count - start <= maxEventBytes else {
            output.removeLast(output.count - start)
            return false
        }
        return true
    }

    @discardableResult
    package static func append(
        id: EventID? = nil,
        type: String,
        retry: Int? = nil,
        data: [UInt8],
        to output: inout [UInt8]
    ) -> Bool {
        append(id: id, type: type, retry: retry, data: data.span, to: &output)
    }

    private static func appendData(_ data: Span<UInt8>, to output: inout [UInt8]) {
        var start = 0
        while true {
            var end = start
            while end < data.count, data[end] != lf, data[end] != cr { end += 1 }
            output.append(contentsOf: Prefix.data)
            let line = data.extracting(start..<end)
            output.append(addingCapacity: line.count) { (free: inout OutputSpan<UInt8>) in
                for index in line.indices { free.append(line[index]) }
            }
            output.append(lf)
            if end == data.count { return }
            // CR LF is one line break.
            start = data[end] == cr && end + 1 < data.count && data[end + 1] == lf ? end + 2 : end + 1
        }
    }

    private static let lf: UInt8 = 0x0A
    private static let cr: UInt8 = 0x0D

    private enum Prefix {
        static let id = Array("id: ".utf8)
        static let event = Array("event: ".utf8)
        static let retry = Array("retry: ".utf8)
        static let data = Array("data: ".utf8)
    }
}
