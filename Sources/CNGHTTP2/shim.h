// Names that differ between nghttp2 releases, and the union fields that a callback needs.
#pragma once
#include <nghttp2/nghttp2.h>
#include <stddef.h>

// nghttp2 1.60 deprecated the ssize_t functions and types; their successors have a 2 in their names.
#if NGHTTP2_VERSION_NUM >= 0x013c00
typedef nghttp2_ssize nghttp2_shim_size;
#define NGHTTP2_SHIM(name) name##2
#else
typedef ssize_t nghttp2_shim_size;
#define NGHTTP2_SHIM(name) name
#endif

/// nghttp2_session_mem_recv or nghttp2_session_mem_recv2, by version.
static inline ptrdiff_t nghttp2_shim_receive(nghttp2_session *session, const uint8_t *bytes, size_t count) {
    return NGHTTP2_SHIM(nghttp2_session_mem_recv)(session, bytes, count);
}

/// nghttp2_session_mem_send or nghttp2_session_mem_send2, by version.
static inline ptrdiff_t nghttp2_shim_send(nghttp2_session *session, const uint8_t **bytes) {
    return NGHTTP2_SHIM(nghttp2_session_mem_send)(session, bytes);
}

/// Fills a body's next DATA frame. Returns the number of bytes written, NGHTTP2_ERR_DEFERRED, or another error.
typedef nghttp2_shim_size (*nghttp2_shim_read)(nghttp2_session *session, int32_t stream, uint8_t *buffer,
                                               size_t capacity, uint32_t *flags, nghttp2_data_source *source,
                                               void *user_data);

/// nghttp2_submit_response or nghttp2_submit_response2, by version; without `read` the head ends the stream.
static inline int nghttp2_shim_respond(nghttp2_session *session, int32_t stream, const nghttp2_nv *fields,
                                       size_t count, nghttp2_shim_read read) {
#if NGHTTP2_VERSION_NUM >= 0x013c00
    nghttp2_data_provider2 provider = {{0}, read};
#else
    nghttp2_data_provider provider = {{0}, read};
#endif
    return NGHTTP2_SHIM(nghttp2_submit_response)(session, stream, fields, count, read ? &provider : NULL);
}

/// Swift sees an anonymous union of frame types as unsafe storage; these functions read one field of it.
static inline int nghttp2_shim_is_request(const nghttp2_frame *frame) {
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

/// Reads the error code of RST_STREAM and GOAWAY.
static inline uint32_t nghttp2_shim_error_code(const nghttp2_frame *frame) {
    return frame->hd.type == NGHTTP2_RST_STREAM ? frame->rst_stream.error_code : frame->goaway.error_code;
}

/// Reads the last stream id of GOAWAY.
static inline int32_t nghttp2_shim_last_stream(const nghttp2_frame *frame) {
    return frame->goaway.last_stream_id;
}
