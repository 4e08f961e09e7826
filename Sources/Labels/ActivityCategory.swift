/// The kinds of work a client may draw an icon for. A client that knows only the first seven treats the others as generic.
package enum ActivityCategory: String, Sendable, Hashable, CaseIterable {
    case thinking, terminal, browser, network, fileSystem, search, generic
    case message, schedule, memory, agent, media, approval
}
