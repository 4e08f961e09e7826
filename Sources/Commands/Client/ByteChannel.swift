/// A connection to the daemon, used by one thread.
package protocol ByteChannel: AnyObject {
    func send(_ bytes: [UInt8]) throws(ClientError)
    /// The next bytes; empty at the end. - Parameter milliseconds: the longest wait; nil waits without end.
    func receive(milliseconds: Int?) throws(ClientError) -> [UInt8]
}
