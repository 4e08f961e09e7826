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

/// The whole terminal, for a program that draws on it: another screen without a cursor, and keys without echo. Ctrl-Z and
/// every signal that ends the process give the terminal back.
package enum WholeScreen {
    package enum Event {
        /// The bytes of one key, or of several that came at once.
        case typed([UInt8])
        /// A second has passed, or the terminal has another size.
        case tick
    }

    package enum End { case input, timeOut, left }

    package enum State {
        /// Another program uses the terminal now.
        case hidden
        case asLeft
        case empty
    }

    private static let tickMilliseconds = 1000

    package static func begin() -> Bool { cs_screen_begin() == 0 }
    package static func end() { cs_screen_end() }

    /// Asked before each drawing.
    package static func show() -> State {
        switch cs_screen_show() {
        case 1: .asLeft
        case 2: .empty
        default: .hidden
        }
    }

    /// Waits for input of a stream, or only for the time. Hands out what comes meanwhile until `take` says no.
    package static func wait(for stream: BlockingStream?, milliseconds: Int?, take: (Event) -> Bool) -> End {
        var rest = milliseconds ?? .max
        while true {
            let slice = min(rest, tickMilliseconds)
            // In the background a key is another program's.
            let keys = cs_is_foreground() != 0 ? StandardStream.input.rawValue : -1
            let ready = cs_wait_two(stream?.descriptor ?? -1, keys, Int32(slice))
            if ready > 0, ready & 2 != 0 {
                guard let bytes = StandardStream.input.read(), !bytes.isEmpty, take(.typed(bytes)) else { return .left }
                continue
            }
            if ready != 0 { return .input }
            guard take(.tick) else { return .left }
            rest -= slice
            if rest <= 0 { return .timeOut }
        }
    }
}
