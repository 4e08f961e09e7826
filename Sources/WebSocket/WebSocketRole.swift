/// Our end of the connection: clients mask the frames they send, servers never do (RFC 6455 §5.1).
package enum WebSocketRole: Sendable {
    case client
    case server
}
