/// The one place the version stands; packaging reads it from here.
enum Version {
    static let text = "0.1.0"
}
