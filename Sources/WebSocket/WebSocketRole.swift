/// Which end of the connection this is: clients mask what they send, servers never do (RFC 6455 §5.1).
package enum WebSocketRole: Sendable {
    case client
    case server
}
