/// Repeats the question until there is an answer; a broken program fails the test instead of hanging it.
@discardableResult
func eventually<Value>(seconds: Int = 30, _ ask: () throws -> Value?) throws -> Value {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline {
        if let value = try ask() { return value }
    }
    throw NothingCame()
}

struct NothingCame: Error {}
