package import HTTPModel

/// Client side: writes request heads.
package enum HTTP1RequestEncoder {
    package enum Body: Sendable, Equatable {
        case none
        case length(Int)
        case chunked
    }

    /// Appends the whole head with its empty line. The arguments supply `Host` and the framing fields; fields of `head`
    /// with these names are left out. The caller adds `Connection` and `Upgrade`.
    package static func appendHead(
        _ head: borrowing RequestHead,
        host: String,
        body: Body,
        to output: inout [UInt8]
    ) {
        let fields = head.fields
        output.append(contentsOf: head.method.name.utf8)
        output.append(ASCII.space)
        output.append(contentsOf: head.target.utf8)
        output.append(contentsOf: " HTTP/1.1\r\nHost: ".utf8)
        output.append(contentsOf: host.utf8.filter { $0 > ASCII.space && $0 < 0x7F })
        output.append(contentsOf: "\r\n".utf8)
        for index in fields.indices {
            switch fields.slots[index].name {
            case .host, .contentLength, .transferEncoding:
                continue
            default:
                output.append(contentsOf: fields.nameBytes(at: index))
                output.append(contentsOf: ": ".utf8)
                output.append(contentsOf: fields.value(at: index))
                output.append(contentsOf: "\r\n".utf8)
            }
        }
        switch body {
        case .none: break
        case .length(let length): output.append(contentsOf: "Content-Length: \(max(length, 0))\r\n".utf8)
        case .chunked: output.append(contentsOf: "Transfer-Encoding: chunked\r\n".utf8)
        }
        output.append(contentsOf: "\r\n".utf8)
    }
}
