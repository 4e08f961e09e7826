// swift-tools-version: 6.2
import PackageDescription

/// One list of settings for every Swift target: language mode 6, strict memory safety, warnings as errors.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// Test targets, which hold most of the code that is slow to compile: each compiler job expands the macros of the others' files anew, so
/// they go in few large jobs instead of one for every 25 files.
let strictTests = strict + [.unsafeFlags(["-driver-batch-size-limit", "100"])]

/// Rounding of `Double` needs libm; targets that import no C module get no autolink entry for it.
let mathematics: [LinkerSetting] = [.linkedLibrary("m", .when(platforms: [.linux]))]

/// A layer: what it may import is exactly `uses`; `make lint` holds the import lines against this table.
func layer(_ name: String, uses: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: uses, exclude: exclude, swiftSettings: strict, linkerSettings: mathematics)
}

/// Layers whose tests are one target, because each target costs a second of the build whatever is in it. The tests of a layer
/// stand in the folder `Tests/NAMETests`.
let tested = [
    "ValueTests": [
        "Basics", "JSONBytes", "HTTPModel", "HTTP1", "WebSocket", "EventStream", "Gateway", "Ledger", "Labels", "Runs",
        "Documents", "Outbox", "Notifications", "OpenAI", "MQTT", "Broker",
    ],
    "WrapperTests": ["POSIX", "TLS", "EventLoops", "HTTP2", "Compression", "SQLite", "Postgres"],
    "ServiceTests": [
        "Observability", "Configuration", "Outbound", "Server", "Access", "Store", "Discovery", "Upstream",
        "DemoGateway",
        "Service", "Follow", "API", "Commands",
    ],
]

/// One of these test targets.
/// - Parameter uses: imported by tests, beside the layers that they test.
func tests(_ name: String, uses: [Target.Dependency]) -> Target {
    let layers = (tested[name] ?? []).filter { !isForThreads || !withoutThreads.contains($0) }
    let others = tested.values.joined().filter { !layers.contains($0) }.map { "\($0)Tests" }
    return .testTarget(
        name: name,
        dependencies: layers.map { .byName(name: $0) } + ["TestSupport"] + uses,
        path: "Tests",
        exclude: others.sorted() + [
            "IntegrationTests", "FaultyGateway", "TestSupport", "Data", "Explore", "Fuzz", "Benchmarks", "Proof",
            "README.md",
            "lint", "lint-docs", "lint-layers", "postgres", "sanitize", "sanitize-mutex.c", "unit",
        ],
        swiftSettings: strictTests
    )
}

func library(_ name: String, pkgConfig: String, apt: String, brew: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt]), .brew([brew])])
}

/// What the short form of the thread sanitizer needs not build, some minutes of two processors: tests of values, which have one thread, and
/// the whole program with its tests, which the contract checks start.
let withoutThreads = ["ValueTests", "IntegrationTests", "Commands", "ladle"]
let isForThreads = Context.environment["LADLE_TESTS"] == "threads"

let package = Package(
    name: "ladle",
    platforms: [.macOS("26.0")],
    products: [
        .executable(name: "ladle", targets: ["ladle"]),
        .executable(name: "faulty-gateway", targets: ["FaultyGateway"]),
    ],
    targets: [
        .target(name: "CSystem"),
        .target(name: "CPostgres"),
        .target(name: "COpenAPI"),
        library("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev", brew: "openssl@3"),
        library("CNGHTTP2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev", brew: "libnghttp2"),
        library("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev", brew: "zlib"),
        library("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev", brew: "sqlite"),

        .target(
            name: "TestSupport",
            dependencies: [
                "Store", "Postgres", "SQLite", "JSONBytes", "POSIX", "CSystem", "CZlib", "CSQLite", "Basics",
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),

        // Values: no I/O, no clock, no C.
        layer("Basics"),
        layer("JSONBytes", uses: ["Basics"]),
        layer("HTTPModel", uses: ["Basics"]),
        layer("HTTP1", uses: ["HTTPModel", "Basics"]),
        layer("WebSocket", uses: ["HTTP1", "HTTPModel", "Basics"]),
        layer("EventStream", uses: ["Basics"]),
        layer("MQTT", uses: ["Basics"]),
        layer("Broker", uses: ["JSONBytes", "Basics"]),
        layer("ReadableText", uses: ["JSONBytes", "Basics"]),
        layer("Gateway", uses: ["JSONBytes", "Basics"]),
        layer("Labels", uses: ["JSONBytes", "Basics"]),
        layer("Ledger", uses: ["Gateway", "Basics"], exclude: ["README.md"]),
        layer("Runs", uses: ["Ledger", "Gateway", "Labels", "JSONBytes", "Basics"]),
        layer("Documents", uses: ["JSONBytes", "Basics"]),
        layer("Outbox", uses: ["Ledger", "JSONBytes", "Basics"]),
        layer("Notifications", uses: ["Gateway", "JSONBytes", "Basics"]),
        layer("OpenAI", uses: ["JSONBytes", "Basics"]),
        // Wrappers: each over one C module. Only POSIX and EventLoops call the system.
        layer("POSIX", uses: ["CSystem", "Basics"]),
        layer("TLS", uses: ["COpenSSL", "Basics"]),
        layer("EventLoops", uses: ["POSIX", "CSystem", "TLS", "Basics"]),
        layer("HTTP2", uses: ["CNGHTTP2", "HTTPModel", "Basics"]),
        layer("Compression", uses: ["CZlib"]),
        layer("SQL"),
        layer("SQLite", uses: ["CSQLite", "SQL"]),
        layer("Postgres", uses: ["CPostgres", "SQL", "POSIX"]),
        // Requests to other servers and programs, for notifications.
        layer(
            "Outbound",
            uses: ["Notifications", "MQTT", "WebSocket", "EventLoops", "TLS", "HTTP1", "HTTPModel", "POSIX", "Basics"]
        ),
        // Services.
        layer("Observability", uses: ["JSONBytes", "POSIX", "Basics"]),
        layer("Configuration", uses: ["JSONBytes", "POSIX", "Basics"]),
        layer(
            "Server",
            uses: [
                "EventLoops", "TLS", "Compression", "HTTP1", "HTTP2", "HTTPModel", "JSONBytes", "Observability",
                "POSIX", "Basics",
            ]
        ),
        layer("Access", uses: ["TLS", "POSIX", "HTTP1", "HTTPModel", "JSONBytes", "Basics"]),
        layer(
            "Store",
            uses: [
                "SQLite", "Postgres", "SQL", "Outbox", "Runs", "Ledger", "Gateway", "Labels", "EventStream", "Access",
                "POSIX",
                "JSONBytes", "Basics",
            ]
        ),
        layer("Discovery", uses: ["POSIX", "JSONBytes", "Basics"]),
        layer(
            "Upstream",
            uses: [
                "Ledger", "Gateway", "Observability", "JSONBytes", "WebSocket", "TLS", "EventLoops", "POSIX", "Basics",
            ]
        ),
        layer(
            "DemoGateway",
            uses: ["JSONBytes", "WebSocket", "HTTPModel", "TLS", "EventLoops", "POSIX", "Basics"]
        ),
        layer(
            "Service",
            uses: [
                "Ledger", "Gateway", "Upstream", "Store", "Outbox", "Access", "Runs", "Labels", "Documents",
                "Notifications", "Outbound", "MQTT", "Broker", "EventStream", "Observability", "TLS", "EventLoops",
                "JSONBytes",
                "Basics",
            ]
        ),
        // Another Ladle that leads this one.
        layer(
            "Follow",
            uses: [
                "Service", "Outbound", "Access", "Gateway", "EventStream", "Observability", "EventLoops", "HTTPModel",
                "JSONBytes", "Basics",
            ]
        ),
        layer(
            "API",
            uses: [
                "Service", "Follow", "Outbound", "OpenAI", "Broker", "MQTT", "ReadableText", "Server", "Ledger",
                "Outbox", "Access", "Runs",
                "Documents",
                "Notifications", "EventStream",
                "Observability", "TLS", "EventLoops", "HTTPModel", "JSONBytes", "COpenAPI", "POSIX", "Basics",
            ]
        ),
        layer(
            "Commands",
            uses: ["Configuration", "HTTP1", "HTTPModel", "JSONBytes", "ReadableText", "TLS", "POSIX", "Basics"]
        ),
        .executableTarget(
            name: "ladle",
            dependencies: [
                "Runs", "Labels", "Commands", "Configuration", "API", "Service", "Follow", "Server", "Upstream",
                "DemoGateway", "Discovery", "Store", "Postgres", "Broker", "MQTT", "Outbound", "Ledger", "Outbox",
                "Notifications",
                "Gateway",
                "EventStream",
                "Access",
                "Observability", "EventLoops", "TLS", "JSONBytes", "POSIX", "Basics",
            ],
            swiftSettings: strict
        ),
        // The demo gateway with faults: tests start it beside `ladle`. No release contains it.
        .executableTarget(
            name: "FaultyGateway",
            dependencies: [
                "DemoGateway", "WebSocket", "EventLoops", "POSIX", "HTTPModel", "JSONBytes", "Basics",
            ],
            path: "Tests/FaultyGateway",
            swiftSettings: strict
        ),
        tests("ValueTests", uses: ["Store", "SQLite"]),
        tests("WrapperTests", uses: ["Basics", "HTTPModel"]),
        tests(
            "ServiceTests",
            uses: [
                "FaultyGateway", "ReadableText", "Runs", "Ledger", "Labels", "Documents", "Outbox", "Notifications",
                "Gateway",
                "EventStream", "MQTT", "Broker", "WebSocket", "HTTP2", "HTTP1", "HTTPModel", "JSONBytes", "SQLite",
                "Compression", "TLS",
                "EventLoops",
                "POSIX", "Basics",
            ]
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "ladle", "FaultyGateway", "TestSupport", "Commands", "API", "Service", "Store", "Configuration",
                "Observability", "Outbox", "Access", "EventLoops", "HTTPModel", "JSONBytes", "POSIX", "Basics",
            ],
            swiftSettings: strictTests
        ),
    ],
    // For `#embed`.
    cLanguageStandard: .gnu2x
)

if isForThreads {
    package.targets.removeAll { withoutThreads.contains($0.name) }
    package.products.removeAll()
}
