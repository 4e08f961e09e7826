import COpenSSL

/// A failure inside OpenSSL: the operation, the side at fault, and the library's own reasons.
///
/// Making an error empties the calling thread's error queue, so that an old entry is never blamed on a later call.
package struct TLSError: Error, Equatable, Sendable {
    /// The side that has to change something.
    package enum Fault: Equatable, Sendable {
        /// The other side broke the protocol, failed verification or sent a fatal alert; only this session ends.
        case peer
        /// Our certificate, key, configuration or call was wrong.
        case ours
        /// The session was already over: after `close_notify`, an earlier failure, or a cut connection.
        case closed
    }

    package let fault: Fault
    /// The attempted operation, in words for a log line.
    package let operation: String
    /// The entries of the error queue, oldest first, without file names or memory addresses.
    package let reasons: [String]
    /// The peer's fatal alert (RFC 8446 §6), if it ended the session.
    package let alert: UInt8?

    package init(_ fault: Fault, _ operation: String, reasons: [String] = [], alert: UInt8? = nil) {
        self.fault = fault
        self.operation = operation
        self.reasons = reasons
        self.alert = alert
    }

    /// Makes an error from all entries of this thread's error queue and empties the queue.
    static func drained(_ fault: Fault, _ operation: String, extra: String? = nil) -> TLSError {
        var reasons: [String] = []
        var alert: UInt8?
        if let extra { reasons.append(extra) }
        while true {
            let code = ERR_get_error()
            if code == 0 { break }
            let reason = Int(ERR_GET_REASON(code))
            // OpenSSL numbers received alerts from SSL_AD_REASON_OFFSET (1000) upwards.
            if ERR_GET_LIB(code) == ERR_LIB_SSL, reason > 1000, reason < 1256 { alert = UInt8(reason - 1000) }
            if let text = unsafe ERR_reason_error_string(code) {
                reasons.append(unsafe String(cString: text))
            } else {
                reasons.append("error \(code)")
            }
        }
        return TLSError(fault, operation, reasons: reasons, alert: alert)
    }
}

extension TLSError: CustomStringConvertible {
    package var description: String {
        reasons.isEmpty ? operation : "\(operation): \(reasons.joined(separator: "; "))"
    }
}
