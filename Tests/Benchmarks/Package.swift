// swift-tools-version: 6.2
import PackageDescription

// The benchmarks of altnet's parts, beside other software (Docs/results/benchmarks.md). A package of its own, because
// SQLite is not needed to build altnet. `Sources` and `Shared` link to the main package. The declarations of modules
// are copies of those in its Package.swift; FuzzTests fails if they differ.

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let (appNIOCore, appNIOPosix, appNIOSSL) = (nioCore, nioPosix, nioSSL)

func module(
    _ name: String, in folder: String, on dependencies: [Target.Dependency] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)",
        swiftSettings: strict)
}

func support(_ name: String, on dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Shared/\(name)", swiftSettings: strict)
}

let package = Package(
    name: "altnet-benchmarks",
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        module("AgentModel", in: "Core"),

        .systemLibrary(name: "CLinux", path: "Sources/Linux/CLinux"),
        module(
            "Linux", in: "Linux", on: ["AgentModel", .target(name: "CLinux", condition: .when(platforms: [.linux]))]),
        module("KeyFile", in: "Linux", on: ["AgentModel", "CLinux", crypto, cryptoExtras]),

        module("AppProtocol", in: "App", on: ["AgentModel", crypto]),
        module(
            "AppClient", in: "App",
            on: [
                "AgentModel", "AppProtocol", appNIOCore, appNIOPosix, appNIOSSL,
                .target(name: "CLinux", condition: .when(platforms: [.linux])),
            ]),
        module(
            "AppServer", in: "Device",
            on: [
                "AgentModel", "AppProtocol", asn1, crypto, nioCore, nioHTTP1, nioPosix, nioSSL, nioTLS, nioWebSocket,
            ]),

        support("Randomness"),
        support("Measuring"),
        support("PipedPrograms", on: ["Linux"]),

        .systemLibrary(name: "CSQLite", path: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .executableTarget(
            name: "keyfile-bench",
            dependencies: ["AgentModel", "CSQLite", "KeyFile", "Linux", "Measuring", "Randomness", argumentParser],
            path: "Shared/KeyFileBenchmark", swiftSettings: strict),
        .executableTarget(
            name: "protocol-bench",
            dependencies: [
                "AgentModel", "AppClient", "AppProtocol", "AppServer", "Measuring", "Linux", "PipedPrograms",
                argumentParser, nioCore,
                nioPosix, nioSSL,
            ],
            path: "Shared/ProtocolBenchmark", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
