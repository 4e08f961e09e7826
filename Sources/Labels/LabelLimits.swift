/// Limits on the parts of a tool call that a label reads. Frames of the gateway must not fill our memory.
package enum LabelLimits {
    /// Longest label without its dots, in characters.
    static let characters = 80
    /// Longest `detail` of a label, in characters.
    package static let detailCharacters = 600
    /// Longest command line that is read, in UTF-8 bytes; the rest could hardly change a label of one line.
    static let commandBytes = 16 << 10
    /// Longest name of a tool, in UTF-8 bytes; longer ones are cut.
    static let toolNameBytes = 256
    /// Files of one patch that are counted.
    static let patchFiles = 500
}
