import Foundation
import PipedPrograms

/// A client of Docs/examples: how it is made and run.
enum ExampleClient: Sendable {
    case python, webSocket, node, go, c, java, shell

    /// The command before its arguments.
    private var command: [String] {
        switch self {
        case .python: ["python3", Self.path("client.py")]
        case .webSocket: ["python3", Self.path("websocket.py")]
        case .node: ["node", Self.path("client.mjs")]
        case .go: [Self.made("go-client")]
        case .c: [Self.made("c-client")]
        case .java: ["java", "-XX:TieredStopAtLevel=1", "-cp", Self.made("java"), "Client"]
        case .shell: ["bash", Self.path("client.sh")]
        }
    }

    /// What makes it from its sources; nil where there is nothing to make. A warning is an error.
    private var making: String? {
        switch self {
        case .python, .webSocket, .node, .shell: nil
        case .go:
            "cd '\(Self.path("go"))' && export CGO_ENABLED=0 GOTOOLCHAIN=local GOPROXY=off GOCACHE='\(Self.made("go-cache"))' "
                + "&& '\(Self.goCompiler)' vet . && '\(Self.goCompiler)' build -o '\(Self.made("go-client"))' ."
        case .c:
            "gcc -std=gnu11 -Wall -Wextra -Werror '\(Self.path("c/client.c"))' -o '\(Self.made("c-client"))' "
                + "-lmbedtls -lmbedx509 -lmbedcrypto"
        case .java:
            "javac -Xlint:all,-serial -Werror -d '\(Self.made("java"))' '\(Self.path("java"))'/*.java"
        }
    }

    /// Whether this machine has what it takes to make and run it.
    var isThere: Bool {
        switch self {
        case .python, .webSocket: Self.has("python3 -c 'import cryptography'")
        case .node: Self.has("node --version")
        case .go: Self.has("'\(Self.goCompiler)' version")
        case .c: Self.has("printf '#include <mbedtls/ssl.h>' | gcc -fsyntax-only -x c -")
        case .java: Self.has("javac -version && java -version")
        case .shell: Self.has("openssl version && bash -c true")
        }
    }

    /// - Returns: what the compilers say; empty where all is well.
    func make() async throws -> String {
        guard let making else { return "" }
        try FileManager.default.createDirectory(atPath: Self.made(""), withIntermediateDirectories: true)
        let (status, output) = try await Self.run(["sh", "-c", making], limit: 300)
        return status == 0 ? output : "status \(status): \(output)"
    }

    /// - Returns: its exit status, and what it says on standard output and standard error.
    func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        try await Self.run(command + arguments, limit: 60)
    }

    static func path(_ example: String) -> String { package.appendingPathComponent("Docs/examples/\(example)").path }

    /// What the compilers make, and what they remember for the next time.
    private static func made(_ file: String) -> String {
        package.appendingPathComponent(".build/examples/\(file)").path
    }

    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Go 1.20 or newer: of this machine, or the one that `make servers` unpacks where the machine's is older.
    private static let goCompiler = {
        let found = try? PipedProgram.run(package.appendingPathComponent("Tests/Servers/go").path, [])
        return String(decoding: found?.output ?? Data(), as: UTF8.self).trimmingCharacters(in: .newlines)
    }()

    private static func has(_ command: String) -> Bool {
        (try? PipedProgram.run("sh", ["-c", "exec >/dev/null 2>&1; \(command)"]).status) == 0
    }

    private static func run(_ command: [String], limit: Int) async throws -> (status: Int32, output: String) {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let run = try PipedProgram.run("timeout", ["\(limit)"] + command, errors: nil)
                        return (run.status, String(decoding: run.output, as: UTF8.self))
                    })
            }
        }
    }
}
