import Basics
import EventLoops

/// The line that the start suggests. It works as it is printed, for the user that started Ladle.
struct FirstCommand {
    let text: String

    /// Plain loopback needs neither a token nor a certificate. Everywhere else the control socket knows its owner.
    init(_ addresses: [SocketAddress], isEncrypted: (SocketAddress) -> Bool, ownerNeedsToken: Bool, control: String) {
        let loopback = addresses.first { address in
            if case .ip(let ip, port: _) = address { ip.isLoopback } else { false }
        }
        let place =
            if let loopback, !isEncrypted(loopback), !ownerNeedsToken {
                "'http://\(loopback)/v1/messages?wait=30'"
            } else {
                "--unix-socket \(Printable.argument(control)) 'http://localhost/v1/messages?wait=30'"
            }
        text = "curl -d 'append the weather to weather.txt' \(place)"
    }
}
