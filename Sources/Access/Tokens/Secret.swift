/// Text that must not be printed. Interpolation, `print`, `dump` and mirrors show a mask; only `reveal()` gives the
/// text.
package struct Secret: Sendable, Equatable {
    private let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// Gives the text to the one place that shows it to its owner.
    package func reveal() -> String { text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
