// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]
/// Modules in which tests compute for minutes. Optimised in debug builds too, these tests are several times faster.
/// Not for a module of a library: SwiftPM refuses a dependency with such flags.
let fast: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")

// Apps on iOS do not link these: there `AppClient` uses the system's Network framework.
let notOnPhones: TargetDependencyCondition? = .when(platforms: [.linux, .macOS])
let appNIOCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio", condition: notOnPhones)
let appNIOPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio", condition: notOnPhones)
let appNIOSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl", condition: notOnPhones)

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
func support(
    _ name: String, on dependencies: [Target.Dependency] = [], exclude: [String] = [], settings: [SwiftSetting] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Tests/\(name)", exclude: exclude,
        swiftSettings: strict + settings)
}

func tests(_ name: String, on dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

// The fuzz program and the benchmarks are packages of their own, in Tests/Fuzz and Tests/Benchmarks.
let package = Package(
    name: "altnet",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "altnet", targets: ["altnet"]),
        .executable(name: "altnet-mqtt", targets: ["altnet-mqtt"]),
        .executable(name: "altnet-lab", targets: ["altnet-lab"]),
        .executable(name: "altnet-dongle", targets: ["altnet-dongle"]),
        .executable(name: "altnet-docs", targets: ["altnet-docs"]),
        .library(name: "AppClient", targets: ["AppClient", "AppProtocol", "AgentModel"]),
        .library(name: "ConnectionMonitor", targets: ["Connectivity", "AgentModel"]),
        .library(name: "DNS", targets: ["DNS"]),
        .library(name: "Netlink", targets: ["Netlink", "Linux", "AgentModel"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        // Core: values and decisions, without input and output.
        module("AgentModel", in: "Core"),
        module("DHCP", in: "Core", on: ["AgentModel"]),
        module("Failover", in: "Core", on: ["AgentModel"], settings: fast),
        module(
            "AgentCore", in: "Core", on: ["AgentModel", "AppProtocol", "DHCP", "Failover", "KeyFile"], settings: fast),

        // Linux: the kernel, the C library, wpa_supplicant and flash.
        .systemLibrary(name: "CLinux", path: "Sources/Linux/CLinux"),
        .systemLibrary(
            name: "CNetlink", path: "Sources/Linux/CNetlink", pkgConfig: "libnl-genl-3.0",
            providers: [.apt(["libnl-3-dev", "libnl-genl-3-dev", "pkg-config"])]),
        .systemLibrary(
            name: "CWpaClient", path: "Sources/Linux/CWpaClient", providers: [.apt(["libwpa-client-dev"])]),
        .systemLibrary(
            name: "CMosquitto", path: "Sources/Linux/CMosquitto", providers: [.apt(["libmosquitto-dev"])]),
        module(
            "Linux", in: "Linux", on: ["AgentModel", .target(name: "CLinux", condition: .when(platforms: [.linux]))]),
        module("Terminal", in: "Linux", on: ["AgentModel", "Linux"]),
        module("Netlink", in: "Linux", on: ["AgentModel", "Linux", "CNetlink"]),
        module("AddressIO", in: "Linux", on: ["AgentModel", "CLinux", "DHCP", "Linux", "Netlink"]),
        module("Supplicant", in: "Linux", on: ["AgentModel", "Linux", "CWpaClient"]),
        module("DBus", in: "Linux", on: ["AgentModel", "Linux"]),
        module("KeyFile", in: "Linux", on: ["AgentModel", "CLinux", crypto, cryptoExtras], settings: fast),

        // App: what both ends of the app protocol share, and the app's end.
        module("AppProtocol", in: "App", on: ["AgentModel", crypto]),
        module(
            "AppClient", in: "App",
            on: [
                "AgentModel", "AppProtocol", appNIOCore, appNIOPosix, appNIOSSL,
                .target(name: "CLinux", condition: .when(platforms: [.linux])),
            ]),
        module("DNS", in: "App", on: ["AgentModel", nioCore, nioPosix]),

        // Device: what ships.
        module(
            "AppServer", in: "Device",
            on: [
                "AgentModel", "AppProtocol", asn1, crypto, nioCore, nioHTTP1, nioPosix, nioSSL, nioTLS, nioWebSocket,
            ]),
        module("Connectivity", in: "Device", on: ["AgentModel", "DNS", nioCore, nioHTTP1, nioPosix, nioSSL, nioTLS]),
        module(
            "Hotspots", in: "Device", on: ["AgentModel", "AppProtocol", "Connectivity", "Linux", nioCore, nioPosix]),
        module(
            "DevicePage", in: "Device",
            on: [
                "AgentModel", "AppProtocol", "AppServer", "Connectivity", "DHCP", "DNS", crypto, nioCore, nioPosix,
            ],
            resources: [.embedInCode("Assets"), .embedInCode("Languages")]),
        module("Import", in: "Device", on: ["AgentModel"]),
        module(
            "Improv", in: "Device", on: ["AgentModel", "AppClient", "AppProtocol", "DBus", "Linux"]),
        module("MQTTBridge", in: "Device", on: ["AgentModel", "AppProtocol"]),
        module("FleetOperator", in: "Device", on: ["AgentModel", "AppProtocol", "MQTTBridge"]),
        module("BrokerIO", in: "Device", on: ["AgentModel", "CMosquitto", "FleetOperator", "Linux", "MQTTBridge"]),
        module(
            "Agent", in: "Device",
            on: [
                "AddressIO", "AgentCore", "AgentModel", "AppProtocol", "AppServer", "CLinux", "Connectivity", "DHCP",
                "DevicePage", "Failover", "Hotspots", "KeyFile", "Linux", "Netlink", "Supplicant", crypto, cryptoExtras,
                logging, nioCore, nioPosix,
            ]),
        .executableTarget(
            name: "altnet-mqtt",
            dependencies: [
                "AgentModel", "AppProtocol", "BrokerIO", "FleetOperator", "Linux", "MQTTBridge", "Terminal",
                argumentParser, crypto,
            ],
            path: "Sources/Device/altnet-mqtt", swiftSettings: strict),
        .executableTarget(
            name: "altnet",
            dependencies: [
                "Agent", "AppClient", "AppServer", "Connectivity", "DNS", "Hotspots", "Import", "Improv", "KeyFile",
                "Linux", "MQTTBridge", "Netlink", "Terminal", argumentParser,
            ],
            path: "Sources/Device/altnet", swiftSettings: strict),

        // Bench: the engineer's tools. Nothing of these is linked into what ships.
        module(
            "Simulation", in: "Bench",
            on: ["AgentCore", "AgentModel", "AppProtocol", "CLinux", "Failover", "KeyFile", "Randomness"],
            resources: [.embedInCode("Scenarios")], settings: fast),
        module("Dongle", in: "Bench", on: ["AgentModel", "CLinux", "CNetlink", "Linux", "Netlink"]),
        .executableTarget(
            name: "altnet-dongle", dependencies: ["Dongle"], path: "Sources/Bench/altnet-dongle", swiftSettings: strict),
        module(
            "Fleet", in: "Bench",
            on: [
                "Agent", "AgentCore", "AgentModel", "AppProtocol", "BrokerIO", "CLinux", "FleetOperator", "KeyFile",
                "Linux", "MQTTBridge", "Simulation",
            ]),
        module("Lab", in: "Bench", on: ["AgentModel", "AppClient", "Dongle", "Linux", "Measuring", "Simulation"]),
        module(
            "Harness", in: "Bench",
            on: ["AppClient", "AppProtocol", "JSONValues", "Linux", nioCore, nioPosix, nioSSL, nioTLS]),
        module(
            "DeveloperDevice", in: "Bench",
            on: [
                "Agent", "AgentCore", "AgentModel", "AppProtocol", "AppServer", "DNS", "DevicePage", "KeyFile", "Linux",
                "Simulation", nioCore, nioPosix,
            ]),
        .executableTarget(
            name: "altnet-lab",
            dependencies: [
                "AddressIO", "Agent", "AgentModel", "AppClient", "AppProtocol", "BrokerIO", "DHCP", "DeveloperDevice",
                "Failover", "Fleet", "FleetOperator", "Harness", "KeyFile",
                "KeyFileSimulation",
                "Lab", "Linux", "MQTTBridge", "PolicyProperties", "Randomness",
                "Simulation", argumentParser,
            ],
            path: "Sources/Bench/altnet-lab", swiftSettings: strict),
        // Debug only: `Fuzzing` imports modules as tests do.
        .executableTarget(
            name: "altnet-docs",
            dependencies: [
                "Agent", "AgentCore", "AgentModel", "AppProtocol", "AppServer", "Failover", "Fuzzing", "Harness",
                "JSONValues", "MQTTBridge", "Simulation", argumentParser,
            ],
            path: "Sources/Bench/altnet-docs", swiftSettings: strict),

        support("Randomness"),
        support("JSONValues"),
        support("Measuring"),
        support("TestTime"),
        support("NetworkNamespaces", on: ["Linux"]),
        support(
            "ConnectivitySupport", on: ["AgentModel", "Connectivity", "DNS", "Linux", "TestTime", nioCore, nioPosix]),
        support("PipedPrograms", on: ["Linux"]),
        support("PolicyProperties", on: ["AgentModel", "Failover", "Randomness"], settings: fast),
        support("KeyFileSimulation", on: ["AgentModel", "KeyFile", "Randomness"], settings: fast),
        support(
            "Fuzzing",
            on: [
                "Agent", "AgentCore", "AgentModel", "AppProtocol", "AppServer", "CNetlink", "Connectivity", "DHCP",
                "DBus", "DNS", "DevicePage", "Failover", "Hotspots", "Import", "Improv", "JSONValues", "KeyFile",
                "KeyFileSimulation", "MQTTBridge", "Netlink", "Randomness", "Supplicant", crypto, nioCore, nioEmbedded,
                nioTLS,
            ],
            exclude: ["Dictionaries"]),

        tests("AgentModelTests", on: ["AgentModel", "Randomness"]),
        tests("DHCPTests", on: ["AgentModel", "DHCP", "Randomness"]),
        tests("FailoverTests", on: ["AgentModel", "Failover", "PolicyProperties", "Randomness"]),
        tests(
            "AgentCoreTests",
            on: ["AgentCore", "AgentModel", "AppProtocol", "DHCP", "Failover", "KeyFile", "Randomness"]),
        tests("LinuxTests", on: ["AgentModel", "Linux"]),
        tests("NetlinkTests", on: ["AgentModel", "CNetlink", "Linux", "Netlink", "NetworkNamespaces", "Randomness"]),
        tests("SupplicantTests", on: ["Linux", "Randomness", "Supplicant", "TestTime"]),
        tests("KeyFileTests", on: ["KeyFile", "KeyFileSimulation", "Randomness"]),
        tests(
            "AppProtocolTests", on: ["AppProtocol", "Failover", "JSONValues", "PipedPrograms", "Randomness", crypto]),
        tests(
            "AppClientTests",
            on: ["AgentModel", "AppClient", "AppServer", "PipedPrograms", "TestTime", nioCore, nioPosix]),
        tests("DNSTests", on: ["DNS", "Randomness"]),
        tests(
            "AppServerTests",
            on: [
                "AgentModel", "AppClient", "AppServer", "PipedPrograms", "Randomness", "TestTime", nioCore, nioEmbedded,
                nioPosix, nioSSL, nioWebSocket,
            ]),
        tests(
            "ConnectivityTests",
            on: [
                "AgentModel", "Connectivity", "ConnectivitySupport", "DNS", "Randomness", nioCore, nioEmbedded, nioTLS,
            ]),
        tests("HotspotsTests", on: ["AppProtocol", "Connectivity", "Hotspots", "Randomness"]),
        tests(
            "DevicePageTests",
            on: [
                "AgentModel", "AppProtocol", "AppServer", "DNS", "DevicePage", nioCore, nioEmbedded, nioPosix,
            ]),
        tests("ImportTests", on: ["AgentModel", "Import", "Randomness"]),
        tests("DBusTests", on: ["DBus", "Randomness"]),
        tests("FleetTests", on: ["AgentModel", "AppProtocol", "Fleet", "MQTTBridge", "Simulation"]),
        tests("MQTTBridgeTests", on: ["AgentModel", "AppProtocol", "JSONValues", "MQTTBridge", "PipedPrograms"]),
        tests("FleetOperatorTests", on: ["AgentModel", "AppProtocol", "FleetOperator", "MQTTBridge"]),
        tests("ImprovTests", on: ["AgentModel", "Improv"]),
        // Tests that need root, servers or network namespaces, or wait for sockets and time (`make integration`).
        tests(
            "IntegrationTests",
            on: [
                "Agent", "AgentModel", "AppClient", "AppProtocol", "AppServer", "BrokerIO", "CNetlink", "Connectivity",
                "ConnectivitySupport", "DNS", "DeveloperDevice", "Hotspots", "Linux", "MQTTBridge", "Netlink",
                "NetworkNamespaces", "PipedPrograms", "Randomness", "Simulation", "TestTime", "altnet", "altnet-mqtt",
                nioCore, nioPosix, nioSSL, nioTLS,
            ]),
        // What puts threads into other network namespaces, and therefore has a process of its own.
        tests(
            "NamespaceTests",
            on: [
                "AddressIO", "AgentModel", "AppProtocol", "AppServer", "Connectivity", "ConnectivitySupport", "DHCP",
                "DevicePage", "Linux", "Netlink", "NetworkNamespaces", "Randomness", "TestTime", nioCore, nioPosix,
            ]),
        tests(
            "AgentTests",
            on: [
                "Agent", "AgentCore", "AppClient", "AppProtocol", "AppServer", "Connectivity", "DHCP", "Hotspots",
                "KeyFile", "KeyFileSimulation", "PipedPrograms", "Randomness", "TestTime", "altnet", logging, nioCore,
                nioPosix,
            ]),
        tests(
            "CommandLineTests",
            on: [
                "AgentModel", "AppClient", "AppProtocol", "AppServer", "DNS", "Import", "Improv", "Lab", "Linux",
                "PipedPrograms", "Randomness", "Terminal", "TestTime", "altnet", "altnet-mqtt",
            ]),
        tests(
            "SimulationTests",
            on: ["AgentCore", "AgentModel", "AppProtocol", "Failover", "KeyFile", "Randomness", "Simulation"]),
        tests(
            "DeveloperDeviceTests",
            on: [
                "AgentModel", "AppClient", "AppProtocol", "DNS", "DeveloperDevice", "Harness", "PipedPrograms",
                "Randomness", "Simulation",
            ]),
        tests(
            "HarnessTests", on: ["AgentModel", "AppProtocol", "AppServer", "Harness", "JSONValues", nioCore, nioPosix]),
        tests("DongleTests", on: ["AgentModel", "Dongle", "Randomness"]),
        tests("StackBenchmarkTests", on: ["AgentModel", "Lab", "Measuring"]),
        tests("FuzzTests", on: ["Fuzzing", "Randomness"]),
        tests("BoardTests", on: ["Agent", "PipedPrograms"]),
        tests(
            "LabTests",
            on: [
                "AgentModel", "AppClient", "Failover", "KeyFile", "Lab", "Linux", "Netlink", "Simulation", "altnet",
            ]),
    ],
    swiftLanguageModes: [.v6]
)
