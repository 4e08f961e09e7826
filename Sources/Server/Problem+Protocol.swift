import HTTP1
import HTTP2
import HTTPModel

/// Problems for messages that break a rule of HTTP.
extension Problem {
    static let tooManyConnections = Problem(
        .tooManyConnections,
        "This server holds as many connections as it is set to hold."
    )

    package static let unreadAnswers = Problem(
        .unreadAnswers,
        "Large answers to this caller, or to all callers, wait to be read already."
    )

    static let unfinishedBodies = Problem(
        .unfinishedBodies,
        "Large requests of this caller, or of all callers, have not ended yet."
    )

    init(_ error: HTTP1ParseError) {
        self.init(ProblemCode(error), error.text, status: error.status)
    }

    init(_ refusal: HTTP2Refusal) {
        switch refusal {
        case .headTooLarge:
            self.init(.headTooLarge, "The header fields take too many bytes.")
        case .tooManyFields:
            self.init(.headTooLarge, "There are too many header fields.")
        case .badScheme:
            self.init(.badTarget, "The scheme is neither http nor https.")
        case .badTarget(let error):
            self.init(.badTarget, error.description)
        }
    }
}

extension ProblemCode {
    init(_ error: HTTP1ParseError) {
        switch error {
        case .bareCR, .bareLF, .controlByte: self = .badByte
        case .requestLineTooLong: self = .requestLineTooLong
        case .notHTTP, .badRequestLine, .badMethod, .badVersion: self = .badRequestLine
        // A server never reads a status line, so this case cannot occur.
        case .badStatusLine: self = .badRequestLine
        case .unknownMethod: self = .unknownMethod
        case .badTarget: self = .badTarget
        case .unsupportedVersion: self = .unsupportedVersion
        case .headTooLarge, .tooManyFields: self = .headTooLarge
        case .foldedLine, .missingColon, .badFieldName: self = .badField
        case .missingHost, .repeatedHost, .badHost, .hostDisagrees: self = .badHost
        case .badContentLength, .repeatedContentLength: self = .badContentLength
        case .lengthAndTransferEncoding, .badTransferEncoding, .transferEncodingInHTTP10: self = .badTransferEncoding
        case .unknownTransferCoding: self = .unknownTransferCoding
        case .unmetExpectation: self = .unmetExpectation
        case .bodyTooLarge: self = .bodyTooLarge
        case .badChunkSize, .badChunkExtension, .badChunkEnd, .chunkExtensionsTooLong: self = .badChunk
        case .badTrailer, .trailerTooLarge: self = .badTrailer
        case .endedEarly: self = .endedEarly
        }
    }
}
