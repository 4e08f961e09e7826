/// The value that an event tells of, for those in this process who act on the event. An event that was read from the log has none:
/// there are only the bytes that clients get.
package protocol EventMatter: Sendable {}
