import Foundation
import PipedPrograms
import Testing

/// What signals do to the agent's process, from its first moments on, and what systemd is told of it.
@Suite(.timeLimit(.minutes(5))) struct AgentSignalTests {
    /// An agent in a folder of its own, with the manager that it tells how it goes.
    private final class Service {
        let manager: NotifySocket
        let program: PipedProgram
        private let folder: String

        init() throws {
            folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try "ALTNET_STATE_DIR=\(folder)\nALTNET_SOCKET=\(folder)/socket\nALTNET_SUPPLICANT_DIR=\(folder)\n"
                .appending("ALTNET_INTERFACE=none7\nALTNET_LAN_PORT=0\n")
                .write(toFile: folder + "/conf", atomically: false, encoding: .utf8)
            manager = try NotifySocket(folder + "/notify")
            let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet"
            self.program = try PipedProgram(
                program, ["agent", "--settings", folder + "/conf"], environment: ["NOTIFY_SOCKET=\(folder)/notify"],
                errors: .nothing)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        /// Waits until the signal does not end the process any more.
        /// - Returns: false where the process has ended.
        func takes(_ signal: Int32) async throws -> Bool {
            for _ in 0..<6000 {
                let status = try String(contentsOfFile: "/proc/\(program.pid)/status", encoding: .utf8)
                let masks = status.matches(of: /Sig(?:Ign|Cgt):\s*([0-9a-f]+)/).compactMap { UInt64($0.1, radix: 16) }
                if masks.contains(where: { $0 & (1 << (UInt64(signal) - 1)) != 0 }) { return true }
                if status.contains(/State:\s*Z/) { return false }
                try await Task.sleep(for: .milliseconds(10))
            }
            return false
        }

        /// What is told next, but for the status.
        func told() -> String {
            while true {
                let told = manager.next().prefix { $0 != "\n" }
                if !told.hasPrefix("STATUS=") { return String(told) }
            }
        }
    }

    /// A reload that comes while the agent starts is no reason to end, and does not make it look ready.
    @Test func aReloadWhileItStartsWaits() async throws {
        let service = try Service()
        try #require(await service.takes(SIGHUP))
        service.program.end(SIGHUP)
        #expect(service.told() == "READY=1")
        service.program.end(SIGTERM)
        #expect(service.program.wait() == 0)
    }

    @Test func aReloadIsToldFromItsBeginningToItsEnd() async throws {
        let service = try Service()
        #expect(service.told() == "READY=1")
        service.program.end(SIGHUP)
        #expect(service.told() == "RELOADING=1")
        #expect(service.told() == "READY=1")
        service.program.end(SIGTERM)
        #expect(service.told() == "STOPPING=1")
        #expect(service.program.wait() == 0)
    }
}
