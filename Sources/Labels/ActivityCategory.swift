/// The kind of work, for a client's icon. Clients that know only the first seven show the others as generic.
package enum ActivityCategory: String, Sendable {
    case thinking, terminal, browser, network, fileSystem, search, generic
    case message, schedule, memory, agent, media, approval
}
