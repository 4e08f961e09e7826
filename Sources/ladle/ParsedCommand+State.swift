import Commands
import Configuration

extension ParsedCommand {
    /// The state directory of a command that works on its files without a server.
    func stateDirectory(_ settings: Settings, _ places: SettingsPlaces) throws(CommandFailure) -> String {
        guard let state = self["--state"].map(places.expanded) ?? places.stateDirectory(settings) else {
            throw CommandFailure(
                .usage,
                "NO_STATE",
                "there is no home directory",
                hint: "name the state with --state DIR"
            )
        }
        return state
    }

    /// The directory with the database: the one that `ladle serve` uses, with `--demo` or without it.
    func dataDirectory(_ settings: Settings, _ places: SettingsPlaces) throws(CommandFailure) -> String {
        let state = try stateDirectory(settings, places)
        return has("--demo") ? state + "/demo" : ServeConfiguration.dataDirectory(state, settings)
    }
}
