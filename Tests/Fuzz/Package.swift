// swift-tools-version: 6.2
import PackageDescription

// The fuzz program (Docs/results/fuzzing.md). A package of its own, because everything in it is compiled in another
// way: with libFuzzer's instrumentation, and open to `@testable import`. `Sources` and `Shared` link to the main
// package. The declarations of modules are copies of those in its Package.swift; FuzzTests fails where they differ.

let instrumented: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .unsafeFlags(["-sanitize=fuzzer", "-parse-as-library", "-enable-testing"]),
]

let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let (appNIOCore, appNIOPosix, appNIOSSL) = (nioCore, nioPosix, nioSSL)

func module(
    _ name: String, in folder: String, on dependencies: [Target.Dependency] = [], resources: [Resource] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", resources: resources,
        swiftSettings: instrumented)
}

func support(_ name: String, on dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Shared/\(name)", exclude: exclude,
        swiftSettings: instrumented)
}

let package = Package(
    name: "altnet-fuzz",
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        module("AgentModel", in: "Core"),
        module("DHCP", in: "Core", on: ["AgentModel"]),
        module("Failover", in: "Core", on: ["AgentModel"]),
        module("AgentCore", in: "Core", on: ["AgentModel", "AppProtocol", "DHCP", "Failover", "KeyFile"]),

        .systemLibrary(name: "CLinux", path: "Sources/Linux/CLinux"),
        .systemLibrary(
            name: "CNetlink", path: "Sources/Linux/CNetlink", pkgConfig: "libnl-genl-3.0",
            providers: [.apt(["libnl-3-dev", "libnl-genl-3-dev", "pkg-config"])]),
        .systemLibrary(
            name: "CWpaClient", path: "Sources/Linux/CWpaClient", providers: [.apt(["libwpa-client-dev"])]),
        module(
            "Linux", in: "Linux", on: ["AgentModel", .target(name: "CLinux", condition: .when(platforms: [.linux]))]),
        module("Netlink", in: "Linux", on: ["AgentModel", "Linux", "CNetlink"]),
        module("AddressIO", in: "Linux", on: ["AgentModel", "CLinux", "DHCP", "Linux", "Netlink"]),
        module("Supplicant", in: "Linux", on: ["AgentModel", "Linux", "CWpaClient"]),
        module("DBus", in: "Linux", on: ["AgentModel", "Linux"]),
        module("KeyFile", in: "Linux", on: ["AgentModel", "CLinux", crypto, cryptoExtras]),

        module("AppProtocol", in: "App", on: ["AgentModel", crypto]),
        module(
            "AppClient", in: "App",
            on: [
                "AgentModel", "AppProtocol", appNIOCore, appNIOPosix, appNIOSSL,
                .target(name: "CLinux", condition: .when(platforms: [.linux])),
            ]),
        module("DNS", in: "App", on: ["AgentModel", nioCore, nioPosix]),

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
        module(
            "Agent", in: "Device",
            on: [
                "AddressIO", "AgentCore", "AgentModel", "AppProtocol", "AppServer", "CLinux", "Connectivity", "DHCP",
                "DevicePage", "Failover", "Hotspots", "KeyFile", "Linux", "Netlink", "Supplicant", crypto, cryptoExtras,
                logging, nioCore, nioPosix,
            ]),

        support("JSONValues"),
        support("Randomness"),
        support("KeyFileSimulation", on: ["AgentModel", "KeyFile", "Randomness"]),
        support(
            "Fuzzing",
            on: [
                "Agent", "AgentCore", "AgentModel", "AppProtocol", "AppServer", "CNetlink", "Connectivity", "DHCP",
                "DBus", "DNS", "DevicePage", "Failover", "Hotspots", "Import", "Improv", "JSONValues", "KeyFile",
                "KeyFileSimulation", "MQTTBridge",
                "Netlink", "Randomness", "Supplicant", crypto, nioCore, nioEmbedded, nioTLS,
            ],
            exclude: ["Dictionaries"]),

        .executableTarget(
            name: "altnet-fuzz", dependencies: ["Fuzzing"], path: "Driver", swiftSettings: instrumented,
            // gold ends with an internal error on libFuzzer's runtime.
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
    ],
    swiftLanguageModes: [.v6]
)
