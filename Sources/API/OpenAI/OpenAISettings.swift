/// The settings of the OpenAI door.
package struct OpenAISettings: Sendable {
    package enum Disconnect: String, Sendable {
        /// A stream that its client closes stops the run; a whole answer goes on.
        case auto
        case stop
        case `continue`
    }

    package var isEnabled = false
    /// Steps of the agent are told as reasoning.
    package var tellsSteps = true
    /// The model's own thoughts are told too.
    package var tellsThoughts = false
    /// A request that names no conversation goes to the caller's one session, instead of a new one.
    package var isOneSession = false
    /// Any name of a model means the default agent.
    package var takesAnyModel = false
    package var disconnect = Disconnect.auto

    package init() {}
}
