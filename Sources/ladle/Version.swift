/// The only place of the version. `make release` and `make deb` read it here.
enum Version {
    static let text = "0.1.0"
}
