import CSystem

/// Single keys of the terminal on standard input, while a program asks a question.
package enum Keyboard {
    /// Drops earlier input. False if nobody can answer: there is no terminal, or another program uses it now.
    package static func begin() -> Bool { cs_keys_begin() == 0 }

    /// Restores the terminal.
    package static func end() { cs_keys_end() }

    enum Typed {
        case key(UInt8)
        /// Several bytes at once are an arrow or another special key, or were pasted: not a typed letter.
        case other
        /// The terminal has gone.
        case end
    }

    fileprivate static func read() -> Typed {
        guard cs_is_foreground() != 0 else { return .other }
        let bytes = StandardStream.input.read() ?? []
        guard let first = bytes.first else { return .end }
        return bytes.count == 1 ? .key(first) : .other
    }
}

extension BlockingStream {
    /// Like `waitForInput`, but hands out keys typed meanwhile until one is the last. The wait restarts with each key.
    package func waitForInput(milliseconds: Int?, typed: (UInt8) -> Bool) -> Bool {
        var isTyping = true
        while isTyping {
            switch waitForInputOrKey(milliseconds: milliseconds) {
            case .input: return true
            case .timeOut: return false
            case .key:
                switch Keyboard.read() {
                case .key(let key): isTyping = typed(key)
                case .other: break
                case .end: return waitForInput(milliseconds: milliseconds)
                }
            }
        }
        return waitForInput(milliseconds: milliseconds)
    }
}
