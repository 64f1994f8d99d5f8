// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")

/// A module in `Sources/<folder>/<name>`.
func module(
    _ name: String, in folder: String, on dependencies: [Target.Dependency] = [], resources: [Resource] = [],
    settings: [SwiftSetting] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", resources: resources,
        swiftSettings: strict + settings)
}

/// A module in `Tests/<name>` that several tests, the fuzzers or the benchmarks share.
func support(_ name: String, on dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/\(name)", exclude: exclude, swiftSettings: strict)
}

func tests(_ name: String, on dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The modules that read bytes from outside.
let decoders = [
    "Agent", "AgentModel", "AppProtocol", "AppServer", "Connectivity", "DNS", "Failover", "Hotspots", "KeyFile",
    "Netlink", "Supplicant",
]

let package = Package(
    name: "altnet",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "altnet", targets: ["altnet"]),
        .executable(name: "altnet-lab", targets: ["altnet-lab"]),
        .library(name: "AppClient", targets: ["AppClient", "AppProtocol", "AgentModel"]),
        .library(name: "DNS", targets: ["DNS"]),
        .library(name: "Netlink", targets: ["Netlink", "Linux", "AgentModel"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        // Core: values and decisions, without input and output.
        module("AgentModel", in: "Core"),
        module("Failover", in: "Core", on: ["AgentModel"]),

        // Linux: the kernel, the C library, wpa_supplicant and flash.
        .systemLibrary(name: "CLinux", path: "Sources/Linux/CLinux"),
        .systemLibrary(
            name: "CNetlink", path: "Sources/Linux/CNetlink", pkgConfig: "libnl-genl-3.0",
            providers: [.apt(["libnl-3-dev", "libnl-genl-3-dev", "pkg-config"])]),
        .systemLibrary(
            name: "CWpaClient", path: "Sources/Linux/CWpaClient", providers: [.apt(["libwpa-client-dev"])]),
        module(
            "Linux", in: "Linux", on: ["AgentModel", .target(name: "CLinux", condition: .when(platforms: [.linux]))]),
        module("Netlink", in: "Linux", on: ["AgentModel", "Linux", "CNetlink"]),
        module("Supplicant", in: "Linux", on: ["AgentModel", "Linux", "CWpaClient"]),
        module(
            "PassphraseHash", in: "Linux", on: ["AgentModel", crypto],
            // Made to be slow to guess; without optimisation it is hundreds of times slower than that.
            settings: [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        module("KeyFile", in: "Linux", on: ["AgentModel", "CLinux", "PassphraseHash", crypto]),

        // App: what both ends of the app protocol share, and the app's end.
        module("AppProtocol", in: "App", on: ["AgentModel", crypto]),
        module("AppClient", in: "App", on: ["AgentModel", "AppProtocol", nioCore, nioPosix, nioSSL, nioTLS]),
        module("DNS", in: "App", on: ["AgentModel", nioCore, nioPosix]),

        // Device: what ships.
        module("QRCode", in: "Device"),
        module("AppServer", in: "Device", on: ["AgentModel", "AppProtocol", nioCore, nioPosix, nioSSL]),
        module("Connectivity", in: "Device", on: ["AgentModel", "DNS", nioCore, nioHTTP1, nioPosix, nioSSL, nioTLS]),
        module(
            "Hotspots", in: "Device", on: ["AgentModel", "AppProtocol", "Connectivity", "Linux", nioCore, nioPosix]),
        module(
            "Agent", in: "Device",
            on: [
                "AgentModel", "AppProtocol", "AppServer", "CLinux", "Connectivity", "Failover", "Hotspots", "KeyFile",
                "Linux", "Netlink", "PassphraseHash", "Supplicant", crypto, logging, nioCore, nioPosix,
            ]),
        .executableTarget(
            name: "altnet",
            dependencies: [
                "Agent", "AppClient", "AppServer", "Connectivity", "DNS", "Hotspots", "KeyFile", "Linux", "QRCode",
                argumentParser,
            ],
            path: "Sources/Device/altnet", swiftSettings: strict),

        // Bench: the engineer's tools. Nothing of these is linked into what ships.
        module(
            "Simulation", in: "Bench", on: ["AgentModel", "Failover", "Randomness"],
            resources: [.embedInCode("Scenarios")]),
        module("Lab", in: "Bench", on: ["AgentModel", "AppClient", "Linux", "Measuring", "Simulation"]),
        module(
            "Harness", in: "Bench", on: ["AppClient", "AppProtocol", "Linux", nioCore, nioPosix, nioSSL, nioTLS],
            // Optimised, it crashes the compiler (Swift 6.3.1, LLVM's CoroSplit).
            settings: [.unsafeFlags(["-Onone"], .when(configuration: .release))]),
        .executableTarget(
            name: "altnet-lab",
            dependencies: [
                "AppClient", "Failover", "Harness", "KeyFileSimulation", "Lab", "Linux", "PolicyProperties",
                "Simulation", argumentParser,
            ],
            path: "Sources/Bench/altnet-lab", swiftSettings: strict),

        support("Randomness"),
        support("Measuring"),
        support("NetworkNamespaces", on: ["Linux"]),
        support("PipedPrograms", on: ["Linux"]),
        support("PolicyProperties", on: ["AgentModel", "Failover", "Randomness"]),
        support("KeyFileSimulation", on: ["AgentModel", "KeyFile", "Randomness"]),
        .target(
            name: "Fuzzing",
            dependencies: decoders.map { .target(name: $0) } + [
                "CNetlink", "KeyFileSimulation", "Randomness", crypto, nioCore, nioEmbedded, nioHTTP1, nioTLS,
            ],
            path: "Tests/Fuzz", exclude: ["Dictionaries", "run", "count"], swiftSettings: strict),

        tests("AgentModelTests", on: ["AgentModel", "Randomness"]),
        tests("FailoverTests", on: ["AgentModel", "Failover", "PolicyProperties", "Randomness"]),
        tests("LinuxTests", on: ["AgentModel", "Linux"]),
        tests("NetlinkTests", on: ["AgentModel", "CNetlink", "Linux", "Netlink", "NetworkNamespaces", "Randomness"]),
        tests("SupplicantTests", on: ["Linux", "Randomness", "Supplicant"]),
        tests("PassphraseHashTests", on: ["AgentModel", "PassphraseHash", crypto]),
        tests("KeyFileTests", on: ["KeyFile", "KeyFileSimulation", "Randomness"]),
        tests("AppProtocolTests", on: ["AppProtocol", "Failover", "PipedPrograms", "Randomness", crypto]),
        tests("AppClientTests", on: ["AgentModel", "AppClient", "AppServer", "PipedPrograms", nioCore, nioPosix]),
        tests("DNSTests", on: ["DNS", "Randomness"]),
        tests("QRCodeTests", on: ["PipedPrograms", "QRCode", "Randomness"]),
        tests(
            "AppServerTests",
            on: ["AgentModel", "AppClient", "AppServer", "PipedPrograms", "Randomness", nioCore, nioPosix, nioSSL]),
        tests(
            "ConnectivityTests",
            on: [
                "AgentModel", "Connectivity", "DNS", "Linux", "Randomness", nioCore, nioEmbedded, nioHTTP1, nioPosix,
                nioSSL, nioTLS,
            ]),
        tests(
            "HotspotsTests",
            on: ["AppProtocol", "Connectivity", "Hotspots", "Linux", "Randomness", "altnet", nioPosix]),
        tests(
            "AgentTests",
            on: [
                "Agent", "AppClient", "AppProtocol", "Connectivity", "Hotspots", "KeyFile", "KeyFileSimulation",
                "PipedPrograms", "Randomness", "altnet",
            ]),
        tests(
            "CommandLineTests",
            on: ["AppClient", "AppServer", "DNS", "Lab", "Linux", "PipedPrograms", "QRCode", "altnet"]),
        tests("SimulationTests", on: ["AgentModel", "Failover", "Randomness", "Simulation"]),
        tests("HarnessTests", on: ["AgentModel", "AppProtocol", "AppServer", "Harness", nioCore, nioPosix]),
        tests("StackBenchmarkTests", on: ["AgentModel", "Lab", "Measuring"]),
        tests("FuzzTests", on: ["Fuzzing", "Randomness"]),
        tests("BoardTests", on: ["PipedPrograms"]),
        tests(
            "LabTests",
            on: [
                "AgentModel", "AppClient", "Failover", "Harness", "KeyFile", "Lab", "Linux", "Netlink", "Simulation",
                "altnet",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// The benchmarks, with ALTNET_BENCH set only: SQLite is not needed to build altnet.
if Context.environment["ALTNET_BENCH"] != nil {
    package.targets += [
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .executableTarget(
            name: "keyfile-bench",
            dependencies: ["AgentModel", "CSQLite", "KeyFile", "Linux", "Measuring", "Randomness", argumentParser],
            path: "Tests/KeyFileBenchmark", swiftSettings: strict),
        .executableTarget(
            name: "protocol-bench",
            dependencies: [
                "AgentModel", "AppClient", "AppProtocol", "AppServer", "Measuring", "PipedPrograms", argumentParser,
            ],
            path: "Tests/ProtocolBenchmark", swiftSettings: strict),
    ]
}

// The fuzzers, with ALTNET_FUZZ set only (Docs/fuzzing.md): what they test is instrumented, and linked with libFuzzer.
if Context.environment["ALTNET_FUZZ"] != nil {
    let instrumented: SwiftSetting = .unsafeFlags(["-sanitize=fuzzer", "-parse-as-library", "-enable-testing"])
    for target in package.targets where decoders.contains(target.name) || target.name == "Fuzzing" {
        target.swiftSettings = strict + [instrumented]
    }
    package.targets.append(
        .executableTarget(
            name: "altnet-fuzz", dependencies: ["Fuzzing"], path: "Tests/FuzzDriver",
            swiftSettings: strict + [instrumented], linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]))
}
