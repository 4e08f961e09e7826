package import HTTPModel

/// The reason why a message is refused. After an error the parser takes nothing more from the connection.
package enum HTTP1ParseError: Error, Equatable, Sendable {
    // Lines
    case bareCR, bareLF
    case controlByte(UInt8)
    // Request line
    /// The line has three words and no slash, so it is not HTTP: every target and every version has a slash.
    case notHTTP
    case requestLineTooLong(limit: Int)
    case badRequestLine
    case badMethod
    case unknownMethod
    case badTarget(RequestTargetError)
    case badVersion
    case unsupportedVersion
    // Status line (client side)
    case badStatusLine
    // Fields
    case headTooLarge(limit: Int)
    case tooManyFields(limit: Int)
    case foldedLine, missingColon, badFieldName
    case missingHost, repeatedHost, badHost, hostDisagrees
    case badContentLength, repeatedContentLength
    case lengthAndTransferEncoding, badTransferEncoding, unknownTransferCoding, transferEncodingInHTTP10
    case unmetExpectation
    // Body
    case bodyTooLarge(limit: Int)
    case badChunkSize, badChunkExtension, badChunkEnd
    case chunkExtensionsTooLong(limit: Int)
    case badTrailer
    case trailerTooLarge(limit: Int)
    /// The peer closed the connection in the middle of a message.
    case endedEarly

    package var status: HTTPStatus {
        switch self {
        case .requestLineTooLong: .uriTooLong
        case .unknownMethod, .unknownTransferCoding: .notImplemented
        case .unsupportedVersion: .versionNotSupported
        case .headTooLarge, .tooManyFields, .trailerTooLarge: .headerFieldsTooLarge
        case .bodyTooLarge: .contentTooLarge
        case .unmetExpectation: .expectationFailed
        default: .badRequest
        }
    }

    /// One sentence for the reader of the problem document.
    package var text: String {
        switch self {
        case .bareCR: "A carriage return is not followed by a line feed."
        case .bareLF: "A line ends with a line feed alone; lines end with CR LF."
        case .controlByte(let byte): "The head has the control byte 0x\(String(byte, radix: 16, uppercase: true))."
        case .requestLineTooLong(let limit): "The request line is longer than \(limit) bytes."
        case .notHTTP: "The first line is none of HTTP."
        case .badRequestLine: "The request line is not METHOD TARGET HTTP/1.1."
        case .badMethod: "The method is not a token."
        case .unknownMethod: "The method is not one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS."
        case .badTarget(let error): error.description
        case .badVersion: "The request line does not end with an HTTP version."
        case .unsupportedVersion: "Only HTTP/1.0 and HTTP/1.1 are understood on this connection."
        case .badStatusLine: "The status line is not HTTP/1.1 CODE REASON."
        case .headTooLarge(let limit): "The header fields take more than \(limit) bytes."
        case .tooManyFields(let limit): "There are more than \(limit) header fields."
        case .foldedLine: "A header field is continued on a second line."
        case .missingColon: "A header field has no colon."
        case .badFieldName: "A header field name is empty or not a token."
        case .missingHost: "HTTP/1.1 requests need a Host field."
        case .repeatedHost: "There is more than one Host field."
        case .badHost: "The Host field is not a host with an optional port."
        case .hostDisagrees: "The Host field and the request target name different hosts."
        case .badContentLength: "Content-Length is not a plain decimal number."
        case .repeatedContentLength: "There is more than one Content-Length."
        case .lengthAndTransferEncoding: "Content-Length and Transfer-Encoding exclude each other."
        case .badTransferEncoding: "Transfer-Encoding is not exactly one chunked."
        case .unknownTransferCoding: "Only the chunked transfer coding is understood."
        case .transferEncodingInHTTP10: "HTTP/1.0 has no Transfer-Encoding."
        case .unmetExpectation: "The only expectation understood is 100-continue."
        case .bodyTooLarge(let limit): "The body is larger than \(limit) bytes."
        case .badChunkSize: "A chunk size is not 1 to 16 hexadecimal digits followed by CR LF."
        case .badChunkExtension: "A chunk extension does not follow its syntax."
        case .badChunkEnd: "The data of a chunk is not followed by CR LF."
        case .chunkExtensionsTooLong(let limit): "The chunk extensions take more than \(limit) bytes."
        case .badTrailer: "A trailer field does not follow its syntax."
        case .trailerTooLarge(let limit): "The trailer takes more than \(limit) bytes."
        case .endedEarly: "The connection closed in the middle of a message."
        }
    }
}
