// swift-tools-version: 6.2
import PackageDescription

// What `board/ship` puts in the place of the toolchain's FoundationEssentials: under the same name, so that altnet and
// the packages it is made of need not know. In altnet's own package the same sources are `SmallFoundation`, for its tests.
let package = Package(
    name: "SmallFoundation",
    products: [.library(name: "SmallFoundation", type: .static, targets: ["FoundationEssentials"])],
    targets: [
        .target(
            name: "FoundationEssentials", path: "Sources", swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
