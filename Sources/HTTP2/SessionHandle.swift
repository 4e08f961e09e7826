import CNGHTTP2

/// Owns one `nghttp2_session` and turns its calls into Swift's types. Its callbacks go to the attached `HTTP2Session`.
@safe final class SessionHandle {
    private let session: OpaquePointer

    init(limits: HTTP2Limits) throws(HTTP2Error) {
        guard let callbacks = unsafe makeCallbacks(), let options = unsafe makeOptions(limits) else {
            throw .library(Int(NGHTTP2_ERR_NOMEM.rawValue))
        }
        defer {
            unsafe nghttp2_session_callbacks_del(callbacks)
            unsafe nghttp2_option_del(options)
        }
        var made: OpaquePointer?
        let result = unsafe nghttp2_session_server_new2(&made, callbacks, nil, options)
        guard result == 0, let made = unsafe made else { throw .library(Int(result)) }
        unsafe session = made
    }

    deinit {
        unsafe nghttp2_session_del(session)
    }

    /// Directs callbacks to `owner`, which holds this handle and so outlives it.
    func attach(_ owner: HTTP2Session) {
        unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(owner).toOpaque())
    }

    var wantsRead: Bool { unsafe nghttp2_session_want_read(session) != 0 }
    var wantsWrite: Bool { unsafe nghttp2_session_want_write(session) != 0 }

    func submitSettings(_ limits: HTTP2Limits) {
        let entries = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
                value: limits.concurrentStreams
            ),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
                value: limits.streamWindow
            ),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(clamping: limits.headBytes)
            ),
        ]
        unsafe entries.withUnsafeBufferPointer { entries in
            _ = unsafe nghttp2_submit_settings(session, 0, entries.baseAddress, entries.count)
        }
        _ = unsafe nghttp2_session_set_local_window_size(session, 0, 0, limits.connectionWindow)
    }

    /// Returns an error after which the library must not be used again, or nil.
    func receive(_ bytes: Span<UInt8>) -> HTTP2Error? {
        let result = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe nghttp2_shim_receive(session, bytes.baseAddress, bytes.count)
        }
        return result < 0 ? Self.error(result) : nil
    }

    /// Appends the library's next piece of output; false when no output is left.
    func send(into output: inout [UInt8]) throws(HTTP2Error) -> Bool {
        var bytes: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_shim_send(session, &bytes)
        if count < 0 { throw Self.error(count) }
        guard count > 0 else { return false }
        unsafe output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        return true
    }

    /// - Parameter hasBody: whether the library will ask for body bytes; if not, the head ends the stream.
    func respond(_ stream: HTTP2StreamID, _ block: inout ResponseBlock, hasBody: Bool) {
        unsafe withNameValues(&block) { fields in
            _ = unsafe nghttp2_shim_respond(
                session,
                stream,
                fields.baseAddress,
                fields.count,
                hasBody ? readBody : nil
            )
        }
    }

    func inform(_ stream: HTTP2StreamID, _ block: inout ResponseBlock) {
        unsafe withNameValues(&block) { fields in
            _ = unsafe nghttp2_submit_headers(session, 0, stream, nil, fields.baseAddress, fields.count, nil)
        }
    }

    func resume(_ stream: HTTP2StreamID) {
        _ = unsafe nghttp2_session_resume_data(session, stream)
    }

    func consume(_ stream: HTTP2StreamID, _ count: Int) {
        _ = unsafe nghttp2_session_consume(session, stream, count)
    }

    func consumeForConnection(_ count: Int) {
        _ = unsafe nghttp2_session_consume_connection(session, count)
    }

    func reset(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        _ = unsafe nghttp2_submit_rst_stream(session, 0, stream, code.rawValue)
    }

    func terminate(_ code: HTTP2ErrorCode) {
        _ = unsafe nghttp2_session_terminate_session(session, code.rawValue)
    }

    func announceShutdown() {
        _ = unsafe nghttp2_submit_shutdown_notice(session)
    }

    func goAway() {
        let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
        _ = unsafe nghttp2_submit_goaway(session, 0, last, HTTP2ErrorCode.noError.rawValue, nil, 0)
    }

    /// The library copies names and values before the call returns. The block is `inout` so that it is not copied.
    @unsafe private func withNameValues(
        _ block: inout ResponseBlock,
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Void
    ) {
        unsafe block.withUnsafeLines { start, lines, length in
            let count = lines.count + (length.isEmpty ? 0 : 1)
            unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: count) { fields in
                for (place, line) in lines.enumerated() {
                    unsafe fields.initializeElement(
                        at: place,
                        to: nghttp2_nv(
                            name: UnsafeMutablePointer(mutating: start + line.start),
                            value: UnsafeMutablePointer(mutating: start + line.nameEnd),
                            namelen: line.nameEnd - line.start,
                            valuelen: line.end - line.nameEnd,
                            flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)
                        )
                    )
                }
                if !length.isEmpty {
                    let name = Self.contentLength
                    unsafe fields.initializeElement(
                        at: lines.count,
                        to: nghttp2_nv(
                            name: UnsafeMutablePointer(mutating: name.utf8Start),
                            value: UnsafeMutablePointer(mutating: length.baseAddress),
                            namelen: name.utf8CodeUnitCount,
                            valuelen: length.count,
                            flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)
                        )
                    )
                }
                unsafe body(UnsafeBufferPointer(fields))
            }
        }
    }

    private static let contentLength: StaticString = "content-length"

    private static func error(_ code: Int) -> HTTP2Error {
        switch code {
        case Int(NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue): .badPreface
        case Int(NGHTTP2_ERR_FLOODED.rawValue): .flooded
        default: .library(code)
        }
    }
}

@unsafe private func makeOptions(_ limits: HTTP2Limits) -> OpaquePointer? {
    var options: OpaquePointer?
    guard unsafe nghttp2_option_new(&options) == 0 else { return nil }
    // A window reopens when the application has used the bytes, not when they arrive.
    unsafe nghttp2_option_set_no_auto_window_update(options, 1)
    // nghttp2 1.52 counts every fragment of a nine-byte CONTINUATION header; `FrameScanner` counts frames.
    unsafe nghttp2_option_set_max_continuations(options, (limits.continuations + 1) * 9)
    unsafe nghttp2_option_set_max_settings(options, limits.settingsEntries)
    unsafe nghttp2_option_set_max_outbound_ack(options, limits.outboundAcknowledgements)
    return unsafe options
}
