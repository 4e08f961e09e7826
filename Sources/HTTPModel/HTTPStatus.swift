/// A status code of three digits with its usual reason phrase.
package struct HTTPStatus: Sendable, Hashable {
    package let code: UInt16

    /// Turns codes outside 100 to 999 into 500, because they cannot be written on the wire.
    package init(_ code: Int) {
        self.code = (100...999).contains(code) ? UInt16(code) : 500
    }

    package var isInformational: Bool { code < 200 }
    package var isSuccess: Bool { (200..<300).contains(code) }
    /// No body ever follows a head with this status (RFC 9110 §6.4.1).
    package var forbidsBody: Bool { code < 200 || code == 204 || code == 304 }
    /// No `Content-Length` may be written (RFC 9110 §8.6). A 304 may carry one, but Ladle writes none.
    package var forbidsContentLength: Bool { code < 200 || code == 204 }

    package static let `continue` = HTTPStatus(100)
    package static let switchingProtocols = HTTPStatus(101)
    package static let ok = HTTPStatus(200)
    package static let created = HTTPStatus(201)
    package static let accepted = HTTPStatus(202)
    package static let noContent = HTTPStatus(204)
    package static let notModified = HTTPStatus(304)
    package static let badRequest = HTTPStatus(400)
    package static let unauthorized = HTTPStatus(401)
    package static let forbidden = HTTPStatus(403)
    package static let notFound = HTTPStatus(404)
    package static let methodNotAllowed = HTTPStatus(405)
    package static let notAcceptable = HTTPStatus(406)
    package static let requestTimeout = HTTPStatus(408)
    package static let conflict = HTTPStatus(409)
    package static let gone = HTTPStatus(410)
    package static let preconditionFailed = HTTPStatus(412)
    package static let contentTooLarge = HTTPStatus(413)
    package static let uriTooLong = HTTPStatus(414)
    package static let unsupportedMediaType = HTTPStatus(415)
    package static let expectationFailed = HTTPStatus(417)
    package static let misdirectedRequest = HTTPStatus(421)
    package static let unprocessableContent = HTTPStatus(422)
    package static let preconditionRequired = HTTPStatus(428)
    package static let tooManyRequests = HTTPStatus(429)
    package static let headerFieldsTooLarge = HTTPStatus(431)
    static let internalServerError = HTTPStatus(500)
    package static let notImplemented = HTTPStatus(501)
    package static let badGateway = HTTPStatus(502)
    package static let serviceUnavailable = HTTPStatus(503)
    package static let gatewayTimeout = HTTPStatus(504)
    package static let versionNotSupported = HTTPStatus(505)
    package static let insufficientStorage = HTTPStatus(507)

    package var reason: String {
        switch code {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 507: "Insufficient Storage"
        default: ""
        }
    }
}
