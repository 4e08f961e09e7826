import Gateway
import Observability

/// A step that the owner of a `LinkMachine` has to take. The steps come in order.
enum LinkAction: Sendable {
    /// Open a connection, with TLS if the URL says so; report `opened` or `failed`.
    case open(GatewayURL)
    case write([UInt8])
    /// Send the bytes that were written, then close. This connection reports nothing more.
    case close
    /// Parse a large message elsewhere, read nothing more meanwhile, and report `parsed` under this number.
    case parse(UInt64, [UInt8])
    case status(LinkStatus)
    case hello(Hello)
    case event(GatewayEvent)
    /// Events were lost: reload the data they may have changed.
    case gap(expected: Int64, received: Int64)
    case outcome(CallID, CallOutcome)
    /// The final outcome of a request that was reported as ambiguous before.
    case late(CallID, CallOutcome)
    /// Store the device tokens; they have changed.
    case storeTokens(DeviceTokenStore)
    case logged(LoggedFrame)
}
