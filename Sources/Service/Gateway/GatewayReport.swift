import Gateway
package import JSONBytes
import Ledger
import Observability
import Upstream

/// The gateway as Ladle saw it, for a report to the people who maintain Ladle. It has names and numbers alone: no address, no
/// session, no text, no id and no secret.
package struct GatewayReport: JSONWritable {
    private let hello: Hello?
    private let profile: GatewayProfile?
    private let link: (state: String, code: String?)
    private let scopes: [String]
    private let names: GatewayNames

    package init(_ gateway: any GatewayCalls) {
        hello = gateway.hello
        profile = gateway.profile
        let status = gateway.status
        link = (status.state.rawValue, status.code)
        scopes = status.scopes
        names = gateway.names
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("state", link.state)
            object.member("code", link.code.map(GatewayNames.name))
            object.array("scopes", of: scopes.map(GatewayNames.name))
            if let hello, let profile { write(hello, profile, to: &object) }
            object.array("answers") { array in
                for (answer, count) in names.answers.sorted(by: { $0.key < $1.key }) {
                    array.object { object in
                        object.member("method", answer.method)
                        object.member("outcome", answer.outcome)
                        object.member("count", Int64(clamping: count))
                    }
                }
            }
            object.array("events") { array in
                for (name, count) in names.events.sorted(by: { $0.key < $1.key }) {
                    array.object { object in
                        object.member("event", name)
                        object.member("count", Int64(clamping: count))
                        object.member("read", !names.unread.contains(name))
                    }
                }
            }
        }
    }

    private func write(_ hello: Hello, _ profile: GatewayProfile, to object: inout JSONWriter) {
        object.member("protocol", Int64(hello.protocolVersion))
        object.member("version", hello.serverVersion.map(GatewayNames.name))
        object.member("conduct", profile.name)
        object.member("tried", !(hello.serverVersion.map(GatewayProfile.isUntried) ?? false))
        object.member("namesProcess", hello.bootID != nil)
        object.member("frameBytes", Int64(hello.policy.maxPayload))
        object.member("tickMs", hello.policy.tickIntervalMs)
        object.array("methods", of: hello.methods.map(GatewayNames.name).sorted())
        if let capabilities = hello.capabilities {
            object.array("capabilities", of: capabilities.map(GatewayNames.name).sorted())
        }
    }
}
