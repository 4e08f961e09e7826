import CNGHTTP2

// Each function is named after the library's callback. A callback only reports to the session, which acts after the
// outer call has returned.

@unsafe func makeCallbacks() -> OpaquePointer? {
    var callbacks: OpaquePointer?
    guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
    unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, onInvalidHeader)
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataChunk)
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrameReceived)
    unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, onFrameSent)
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
    return unsafe callbacks
}

/// Calls the session without retaining it: the session is inside the library call that led here, so it is alive.
@unsafe private func tell(_ userData: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Void) {
    guard let userData = unsafe userData else { return }
    unsafe Unmanaged<HTTP2Session>.fromOpaque(userData)._withUnsafeGuaranteedRef(body)
}

@unsafe private func onBeginHeaders(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let frame = unsafe frame, unsafe nghttp2_shim_is_request(frame) != 0 {
        let stream = unsafe frame.pointee.hd.stream_id
        unsafe tell(userData) { $0.beganHead(stream) }
    }
    return 0
}

@unsafe private func onHeader(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ name: UnsafePointer<UInt8>?,
    _ nameLength: Int,
    _ value: UnsafePointer<UInt8>?,
    _ valueLength: Int,
    _ flags: UInt8,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let frame = unsafe frame {
        let stream = unsafe frame.pointee.hd.stream_id
        let name = unsafe UnsafeBufferPointer(start: name, count: nameLength)
        let value = unsafe UnsafeBufferPointer(start: value, count: valueLength)
        unsafe tell(userData) { unsafe $0.gotField(stream, name: name.span, value: value.span) }
    }
    return 0
}

/// Without this callback the library drops invalid fields and lets the request pass.
@unsafe private func onInvalidHeader(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ name: UnsafePointer<UInt8>?,
    _ nameLength: Int,
    _ value: UnsafePointer<UInt8>?,
    _ valueLength: Int,
    _ flags: UInt8,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let frame = unsafe frame {
        let stream = unsafe frame.pointee.hd.stream_id
        unsafe tell(userData) { $0.gotInvalidField(stream) }
    }
    return 0
}

@unsafe private func onDataChunk(
    _ session: OpaquePointer?,
    _ flags: UInt8,
    _ stream: Int32,
    _ bytes: UnsafePointer<UInt8>?,
    _ count: Int,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    let bytes = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    unsafe tell(userData) { $0.gotData(stream, bytes) }
    return 0
}

@unsafe private func onFrameReceived(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    let header = unsafe frame.pointee.hd
    let isRequest = unsafe nghttp2_shim_is_request(frame) != 0
    unsafe tell(userData) { session in
        switch FrameHeader.Kind(rawValue: header.type) {
        case .headers:
            let ends = header.flags & endStream != 0
            if isRequest { session.completedHead(header.stream_id, ends: ends) }
            if ends { session.requestEnded(header.stream_id) }
        case .data:
            if header.flags & endStream != 0 { session.requestEnded(header.stream_id) }
        case .goAway:
            session.gotGoAway(HTTP2ErrorCode(rawValue: unsafe nghttp2_shim_error_code(frame)))
        default: break
        }
    }
    return 0
}

@unsafe private func onFrameSent(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    let header = unsafe frame.pointee.hd
    unsafe tell(userData) { session in
        switch FrameHeader.Kind(rawValue: header.type) {
        case .headers, .data:
            if header.flags & endStream != 0 { session.responseEnded(header.stream_id) }
        case .resetStream:
            session.sentReset(header.stream_id, HTTP2ErrorCode(rawValue: unsafe nghttp2_shim_error_code(frame)))
        case .goAway:
            session.sentGoAway(HTTP2ErrorCode(rawValue: unsafe nghttp2_shim_error_code(frame)))
        default: break
        }
    }
    return 0
}

@unsafe private func onStreamClose(
    _ session: OpaquePointer?,
    _ stream: Int32,
    _ code: UInt32,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe tell(userData) { $0.closed(stream, HTTP2ErrorCode(rawValue: code)) }
    return 0
}

/// The library's `nghttp2_data_source_read_callback`.
@unsafe func readBody(
    _ session: OpaquePointer?,
    _ stream: Int32,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ capacity: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int {
    let room = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: capacity)
    var next: (count: Int, isLast: Bool)?
    unsafe tell(userData) { unsafe next = $0.nextBody(stream, into: room) }
    guard let next else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    if next.isLast { unsafe flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return next.count
}

private let endStream: UInt8 = 1
