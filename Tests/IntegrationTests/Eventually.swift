/// Repeats the question until there is an answer; a broken program fails the test instead of hanging it.
@discardableResult
func eventually<Value>(_ ask: () throws -> Value?) throws -> Value {
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
        if let value = try ask() { return value }
    }
    throw NothingCame()
}

struct NothingCame: Error {}
