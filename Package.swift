// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")

/// The modules that read bytes from outside.
let decoders = [
    "Agent", "AgentModel", "AppProtocol", "AppServer", "ConnectionMonitor", "DNSMessage", "DNSService",
    "HotspotProviders",
    "InterfaceNetwork", "KeyFile", "Netlink", "OnlineValidation", "PolicyRecord", "Supplicant",
]

let package = Package(
    name: "altnet",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "altnet", targets: ["altnet"]),
        .executable(name: "altnet-lab", targets: ["altnet-lab"]),
        .library(name: "AppClient", targets: ["AppClient", "AppProtocol", "AgentModel"]),
        .library(name: "DNSService", targets: ["DNSService", "DNSMessage"]),
        .library(name: "Reachability", targets: ["Reachability", "Netlink", "EventLoop", "AgentModel"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        // What everything is made of.
        .target(name: "AgentModel", swiftSettings: strict),
        .systemLibrary(name: "CLoop"),
        .target(name: "EventLoop", dependencies: ["AgentModel", "CLoop"], swiftSettings: strict),
        .systemLibrary(name: "CSpawn"),
        .target(
            name: "ChildProcess", dependencies: [.target(name: "CSpawn", condition: .when(platforms: [.linux]))],
            swiftSettings: strict),

        // The device side.
        .systemLibrary(name: "CMemory"),
        .systemLibrary(
            name: "CNetlink", pkgConfig: "libnl-genl-3.0",
            providers: [.apt(["libnl-3-dev", "libnl-genl-3-dev", "pkg-config"])]),
        .systemLibrary(name: "CWpaClient", providers: [.apt(["libwpa-client-dev"])]),
        .target(name: "Netlink", dependencies: ["AgentModel", "EventLoop", "CNetlink"], swiftSettings: strict),
        .target(name: "Supplicant", dependencies: ["AgentModel", "EventLoop", "CWpaClient"], swiftSettings: strict),
        .target(name: "FailoverPolicy", dependencies: ["AgentModel"], swiftSettings: strict),
        .target(
            name: "PolicyRecord", dependencies: ["AgentModel", "EventLoop", "FailoverPolicy"], swiftSettings: strict),
        .systemLibrary(name: "CFlash"),
        .target(
            name: "PassphraseHash", dependencies: ["AgentModel", crypto],
            // Made to be slow to guess; without optimisation it is hundreds of times slower than that.
            swiftSettings: strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        .target(
            name: "KeyFile", dependencies: ["AgentModel", "CFlash", "PassphraseHash", crypto], swiftSettings: strict),

        // The app protocol, both ends.
        .target(name: "AppProtocol", dependencies: ["AgentModel", crypto], swiftSettings: strict),
        .target(
            name: "AppServer", dependencies: ["AgentModel", "AppProtocol", nioCore, nioPosix, nioSSL],
            swiftSettings: strict),
        .target(
            name: "AppClient", dependencies: ["AgentModel", "AppProtocol", nioCore, nioPosix, nioSSL, nioTLS],
            swiftSettings: strict),

        .target(name: "DNSMessage", swiftSettings: strict),
        .target(
            name: "DNSService", dependencies: ["AgentModel", "DNSMessage", nioCore, nioPosix], swiftSettings: strict),
        .target(name: "QRCode", swiftSettings: strict),

        // How far a network leads.
        .target(name: "Reachability", dependencies: ["AgentModel", "EventLoop", "Netlink"], swiftSettings: strict),
        .target(
            name: "InterfaceNetwork", dependencies: ["AgentModel", "DNSMessage", nioCore, nioPosix],
            swiftSettings: strict),
        .target(
            name: "ConnectionMonitor",
            dependencies: ["AgentModel", "InterfaceNetwork", nioCore, nioPosix, nioSSL, nioTLS],
            swiftSettings: strict),
        .target(
            name: "OnlineValidation",
            dependencies: ["AgentModel", "InterfaceNetwork", nioCore, nioPosix, nioSSL, nioHTTP1],
            swiftSettings: strict),
        .target(
            name: "HotspotProviders",
            dependencies: [
                "AgentModel", "AppProtocol", "ChildProcess", "InterfaceNetwork", "OnlineValidation", nioCore, nioPosix,
            ],
            swiftSettings: strict),

        // What ships.
        .target(
            name: "Agent",
            dependencies: [
                "AgentModel", "EventLoop", "Netlink", "Supplicant", "FailoverPolicy", "KeyFile", "PassphraseHash",
                "AppProtocol",
                "CMemory", "AppServer", "PolicyRecord", "Reachability", "InterfaceNetwork", "ConnectionMonitor",
                "OnlineValidation", "HotspotProviders", crypto, nioCore, nioPosix,
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "altnet",
            dependencies: [
                "Agent", "AppClient", "AppServer", "ChildProcess", "DNSService", "HotspotProviders", "InterfaceNetwork",
                "KeyFile", "QRCode",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),

        // The engineer's tools: nothing of these is linked into what ships.
        .target(
            name: "Simulation", dependencies: ["AgentModel", "FailoverPolicy", "PolicyRecord", "Randomness"],
            resources: [.embedInCode("Scenarios")], swiftSettings: strict),
        .target(name: "Lab", dependencies: ["AgentModel", "AppClient", "ChildProcess"], swiftSettings: strict),
        .target(
            name: "Harness",
            dependencies: ["AppProtocol", "AppClient", "ChildProcess", nioCore, nioPosix, nioSSL, nioTLS],
            // Optimised, it crashes the compiler (Swift 6.3.1, LLVM's CoroSplit).
            swiftSettings: strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))]),
        .target(name: "TerminalPicture", swiftSettings: strict),
        .target(
            name: "StackBenchmark", dependencies: ["AgentModel", "AppClient", "Lab", "Measuring", "Simulation"],
            swiftSettings: strict),
        .executableTarget(
            name: "altnet-lab",
            dependencies: [
                "Lab", "Harness", "TerminalPicture", "AppClient", "FailoverPolicy", "Simulation", "PolicyRecord",
                "ChildProcess", "PolicyProperties", "StackBenchmark",
                "KeyFileSimulation",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),

        .target(
            name: "PolicyProperties", dependencies: ["AgentModel", "FailoverPolicy", "Randomness"],
            path: "Tests/PolicyProperties", swiftSettings: strict),
        .target(name: "Randomness", path: "Tests/Randomness", swiftSettings: strict),
        .target(name: "Measuring", path: "Tests/Measuring", swiftSettings: strict),
        .target(
            name: "NetworkNamespaces", dependencies: ["ChildProcess", "EventLoop"], path: "Tests/NetworkNamespaces",
            swiftSettings: strict),
        .target(
            name: "PipedPrograms", dependencies: ["ChildProcess"], path: "Tests/PipedPrograms", swiftSettings: strict),
        .target(
            name: "KeyFileSimulation", dependencies: ["AgentModel", "KeyFile", "Randomness"],
            path: "Tests/KeyFileSimulation", swiftSettings: strict),
        .target(
            name: "Fuzzing",
            dependencies: decoders.map { .target(name: $0) } + [
                "CNetlink", "FailoverPolicy", "KeyFileSimulation", "Randomness", crypto, nioCore, nioEmbedded, nioHTTP1,
                nioTLS,
            ],
            path: "Tests/Fuzz", exclude: ["Dictionaries", "run", "count"], swiftSettings: strict),
        .testTarget(name: "FuzzTests", dependencies: ["Fuzzing", "Randomness"], swiftSettings: strict),
        .testTarget(name: "AgentModelTests", dependencies: ["AgentModel", "Randomness"], swiftSettings: strict),
        .testTarget(name: "ChildProcessTests", dependencies: ["ChildProcess"], swiftSettings: strict),
        .testTarget(name: "BoardTests", dependencies: ["PipedPrograms"], swiftSettings: strict),
        .testTarget(name: "EventLoopTests", dependencies: ["AgentModel", "EventLoop"], swiftSettings: strict),
        .testTarget(
            name: "NetlinkTests", dependencies: ["Netlink", "CNetlink", "NetworkNamespaces", "Randomness"],
            swiftSettings: strict),
        .testTarget(
            name: "SupplicantTests", dependencies: ["ChildProcess", "Supplicant", "Randomness"], swiftSettings: strict),
        .testTarget(
            name: "FailoverPolicyTests", dependencies: ["FailoverPolicy", "PolicyProperties", "Randomness"],
            swiftSettings: strict),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["Simulation", "PolicyRecord", "FailoverPolicy", "AgentModel", "Randomness"],
            swiftSettings: strict),
        .testTarget(
            name: "PolicyRecordTests", dependencies: ["PolicyRecord", "FailoverPolicy", "AgentModel", "Randomness"],
            swiftSettings: strict),
        .testTarget(
            name: "PassphraseHashTests", dependencies: ["AgentModel", "PassphraseHash", crypto], swiftSettings: strict),
        .testTarget(
            name: "KeyFileTests", dependencies: ["KeyFile", "KeyFileSimulation", "Randomness"], swiftSettings: strict),
        .testTarget(
            name: "AppProtocolTests",
            dependencies: ["AppProtocol", "FailoverPolicy", "PipedPrograms", "Randomness", crypto],
            swiftSettings: strict),
        .testTarget(
            name: "AppServerTests",
            dependencies: [
                "AgentModel", "AppServer", "AppClient", "PipedPrograms", "Randomness", nioCore, nioPosix, nioSSL,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReachabilityTests",
            dependencies: ["Reachability", "Netlink", "EventLoop", "AgentModel", "NetworkNamespaces"],
            swiftSettings: strict),
        .testTarget(
            name: "InterfaceNetworkTests",
            dependencies: [
                "InterfaceNetwork", "AgentModel", "DNSMessage", "ChildProcess", "Randomness", nioCore, nioPosix,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ConnectionMonitorTests",
            dependencies: [
                "ConnectionMonitor", "InterfaceNetwork", "OnlineValidation", "ChildProcess", "Randomness", nioCore,
                nioPosix, nioEmbedded, nioSSL, nioTLS,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "OnlineValidationTests",
            dependencies: [
                "OnlineValidation", "InterfaceNetwork", "AgentModel", "Randomness", "ChildProcess", nioCore, nioPosix,
                nioHTTP1, nioSSL, nioEmbedded,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HotspotProvidersTests",
            dependencies: [
                "HotspotProviders", "AppProtocol", "ChildProcess", "InterfaceNetwork", "OnlineValidation", "Randomness",
                "altnet", nioPosix,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DNSServiceTests", dependencies: ["DNSService", "DNSMessage", "Randomness"], swiftSettings: strict),
        .testTarget(
            name: "QRCodeTests", dependencies: ["QRCode", "PipedPrograms", "Randomness"], swiftSettings: strict),
        .testTarget(
            name: "AppClientTests",
            dependencies: ["AgentModel", "AppClient", "AppServer", "PipedPrograms", nioCore, nioPosix],
            swiftSettings: strict),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "altnet", "AppServer", "AppClient", "ChildProcess", "DNSMessage", "DNSService", "PipedPrograms",
                "QRCode",
                "TerminalPicture",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AgentTests",
            dependencies: [
                "Agent", "AppClient", "AppProtocol", "ConnectionMonitor", "OnlineValidation", "HotspotProviders",
                "KeyFile", "KeyFileSimulation", "PipedPrograms", "Randomness", "altnet",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HarnessTests",
            dependencies: ["Harness", "AgentModel", "AppServer", "AppProtocol", nioCore, nioPosix],
            swiftSettings: strict),
        .testTarget(
            name: "StackBenchmarkTests", dependencies: ["StackBenchmark", "AgentModel", "Lab", "Measuring"],
            swiftSettings: strict),
        .testTarget(
            name: "LabTests",
            dependencies: [
                "Lab", "Harness", "AppClient", "altnet", "Netlink", "EventLoop", "AgentModel", "KeyFile",
                "PolicyRecord",
                "FailoverPolicy", "Simulation",
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// The benchmarks, with ALTNET_BENCH set only, so that nobody needs SQLite to build altnet.
if Context.environment["ALTNET_BENCH"] != nil {
    package.targets += [
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .executableTarget(
            name: "keyfile-bench",
            dependencies: [
                "AgentModel", "KeyFile", "Randomness", "CSQLite", "Measuring", "ChildProcess",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/KeyFileBenchmark", swiftSettings: strict),
        .executableTarget(
            name: "protocol-bench",
            dependencies: [
                "AgentModel", "AppProtocol", "AppServer", "AppClient", "Measuring", "PipedPrograms",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
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
