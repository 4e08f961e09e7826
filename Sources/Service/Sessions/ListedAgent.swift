import Gateway
package import JSONBytes

/// An agent of the gateway, as lists show it.
package struct ListedAgent: Sendable, JSONWritable {
    package let id: String
    let name: String?
    let emoji: String?
    let avatar: String?
    let isDefault: Bool
    let session: String

    init(_ agent: AgentsList.Agent, of list: AgentsList.Output) {
        id = agent.id
        name = agent.name
        emoji = agent.emoji
        avatar = agent.avatar
        isDefault = agent.id == list.defaultId
        session = "agent:\(agent.id):\(list.mainKey ?? "main")"
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("emoji", emoji)
            object.member("avatar", avatar)
            object.member("default", isDefault)
            object.member("session", session)
        }
    }
}
