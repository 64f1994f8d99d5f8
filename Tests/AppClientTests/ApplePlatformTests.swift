import Foundation
import Testing

/// What an app links has to build for Apple's systems, where no test runs: what their compiler would see is read here.
@Suite struct ApplePlatformTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    /// Modules of Apple's systems, and packages that build there.
    private static let available: Set = [
        "Darwin", "Dispatch", "Foundation", "Network", "Security", "Synchronization", "Crypto", "NIOCore", "NIOPosix",
        "NIOSSL", "NIOTLS", "AgentModel", "AppProtocol", "AppClient", "DNS",
    ]
    /// Names and paths that there are on Linux alone.
    private static let foreign = [
        "Glibc.", "Musl.", "CLinux", "SOCK_STREAM.rawValue", "IPPROTO_TCP.rawValue", "MSG_NOSIGNAL", "SOCK_CLOEXEC",
        "SO_PEERCRED", "SO_BINDTODEVICE", "epoll_", "eventfd", "/proc/", "/sys/", "explicit_bzero", "getrandom",
    ]

    @Test(arguments: ["Core/AgentModel", "App/AppProtocol", "App/AppClient", "App/DNS"], ["macOS", "iOS"])
    func nothingIsOfLinuxAlone(_ module: String, on system: String) throws {
        let folder = Self.sources.appending(path: module)
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        #expect(files.count > 3)
        for file in files {
            let name = file.lastPathComponent
            for line in try AppleSource(String(contentsOf: file, encoding: .utf8), file: name, on: system).lines {
                if let imported = line.firstMatch(of: /^(?:@\w+ )?(?:\w+ )?import (?:\w+ )?([A-Za-z]\w*)/)?.output.1 {
                    #expect(Self.available.contains(String(imported)), "\(name): import \(imported)")
                    // An app on iOS has the system's own TLS.
                    let isOfApp = system == "iOS" && module != "App/DNS"
                    #expect(!isOfApp || !imported.hasPrefix("NIO"), "\(name): import \(imported)")
                }
                let code = line.prefix { $0 != "/" } + (line.contains("//") ? "" : line.drop { $0 != "/" })
                for word in Self.foreign { #expect(!code.contains(word), "\(name): \(line)") }
            }
        }
    }

    @Test func theOtherBranchIsTaken() throws {
        let text = """
            #if canImport(Glibc)
            import Glibc
            #elseif canImport(Musl)
            import Musl
            #elseif canImport(Darwin)
            import Darwin
            #endif
            #if os(Linux)
            a
            #if canImport(Darwin)
            b
            #endif
            #else
            c
            #endif
            #if os(Linux) || os(macOS)
            d
            #endif
            """
        #expect(try AppleSource(text, file: "a test", on: "iOS").lines == ["import Darwin", "c"])
        #expect(try AppleSource(text, file: "a test", on: "macOS").lines == ["import Darwin", "c", "d"])
        #expect(throws: UnknownCondition.self) {
            try AppleSource("#if os(Linux) || DEBUG\n#endif", file: "a test", on: "iOS")
        }
    }
}

/// A condition that this test cannot decide.
private struct UnknownCondition: Error {
    let file: String
    let condition: String
}

/// The lines of a file that a compiler for Apple's systems reads.
private struct AppleSource {
    var lines: [String] = []

    init(_ text: String, file: String, on system: String) throws {
        /// For each open `#if`: whether this branch counts, and whether one of them has.
        var branches: [(counts: Bool, isDecided: Bool)] = []
        for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
            if line.hasPrefix("#if ") {
                let holds = try Self.holds(line.dropFirst(4), file, system)
                branches.append((holds, holds))
            } else if line.hasPrefix("#elseif "), let last = branches.popLast() {
                let holds = try !last.isDecided && Self.holds(line.dropFirst(8), file, system)
                branches.append((holds, last.isDecided || holds))
            } else if line == "#else", let last = branches.popLast() {
                branches.append((!last.isDecided, true))
            } else if line == "#endif" {
                _ = branches.popLast()
            } else if branches.allSatisfy(\.counts) {
                lines.append(line)
            }
        }
    }

    private static func holds(_ condition: Substring, _ file: String, _ system: String) throws -> Bool {
        switch condition {
        case "canImport(Darwin)", "canImport(Network)": true
        case "os(Linux) || os(macOS)": system == "macOS"
        case "os(iOS)": system == "iOS"
        case "canImport(Glibc)", "canImport(Musl)", "canImport(FoundationEssentials)", "os(Linux)": false
        default: throw UnknownCondition(file: file, condition: String(condition))
        }
    }
}
