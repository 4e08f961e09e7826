import Basics
package import EventLoops
package import Gateway
package import JSONBytes
import Ledger

/// A model as the list of models shows it.
package struct ModelInfo: Sendable, Equatable, JSONWritable {
    /// `PROVIDER/ID`, the name used in sessions and configurations.
    package let id: String
    let name: String
    let provider: String
    let alias: String?
    let contextTokens: Int64?
    let reasoning: Bool?
    let isAvailable: Bool?
    let isDefault: Bool

    /// In bytes, per text shown.
    private static let longestText = 512

    init(_ model: ModelsList.Model, default named: DefaultModel.Name?) {
        id = "\(model.provider)/\(model.id)"
        name = model.name.map { $0.shown(bytes: Self.longestText) } ?? model.id
        provider = model.provider
        alias = model.alias.map { $0.shown(bytes: Self.longestText) }
        contextTokens = model.contextWindow
        reasoning = model.reasoning
        isAvailable = model.available
        isDefault = named.map { $0.provider == model.provider && $0.id == model.id } ?? false
    }

    /// Whether the name means this model: a session may use the full name, the alias, or the name without its provider.
    func answers(to name: String) -> Bool {
        let wanted = name.lowercased()
        return id.lowercased() == wanted || alias?.lowercased() == wanted
            || id.lowercased().hasSuffix("/" + wanted)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("provider", provider)
            object.member("alias", alias)
            object.member("contextTokens", contextTokens)
            object.member("reasoning", reasoning)
            object.member("available", isAvailable)
            object.member("default", isDefault)
        }
    }
}

/// The choice of models to list.
package typealias ModelView = ModelsList.View

/// The models that the gateway can use. Loading the catalogue costs the gateway time, so answers are cached.
package final class ModelService {
    /// The catalogue changes with the gateway's configuration, so it is also read again after each connection.
    private static let lifeMs: Int64 = 600_000

    private unowned let gateway: any GatewayCalls
    private let cache = AnswerCache<ModelsList.View?, [ModelInfo]>(most: ModelsList.View.allCases.count + 1) { _ in
        ModelService.lifeMs
    }

    init(gateway: any GatewayCalls) { self.gateway = gateway }

    /// False if the connected gateway has no model list.
    package var isSupported: Bool { gateway.profile?.offers(.models) ?? true }

    func linkOpened() { cache.expire() }

    func received(_ event: GatewayEvent) {
        if event.name == GatewayEvent.configurationChanged { cache.expire() }
    }

    package func read(
        _ view: ModelsList.View?,
        on loop: isolated EventLoop
    ) async throws(GatewayFault) -> KeptAnswer<[ModelInfo]> {
        let view = gateway.profile?.takesModelViews == true ? view : nil
        return try await cache.get(view, over: gateway, on: loop) { [gateway] () throws(CallFailure) in
            let models = try await gateway.call(ModelsList(view: view), on: loop)
            // Without the default model's name the list is still useful.
            let named = try? await gateway.call(DefaultModel(), on: loop)
            return models.map { ModelInfo($0, default: named ?? nil) }
        }
    }
}

extension String {
    /// The text for display: on one line, unprintable characters escaped, at most so many bytes.
    func shown(bytes limit: Int) -> String { Printable.escaped(cut(toBytes: limit)).text.cut(toBytes: limit) }
}
