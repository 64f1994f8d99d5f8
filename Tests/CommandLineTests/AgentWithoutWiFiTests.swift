import AgentModel
import AppClient
import AppProtocol
import Foundation
import PipedPrograms
import Testing

/// The agent's own process on a kernel that has no Wi-Fi: apps are answered, and told what is missing.
@Suite(
    .timeLimit(.minutes(5)), .disabled(if: access("/sys/module/cfg80211", F_OK) == 0, "this kernel has nl80211"))
struct AgentWithoutWiFiTests {
    @Test func appsAreAnswered() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The interface is there, and cannot be one of Wi-Fi.
        try "ALTNET_STATE_DIR=\(folder)\nALTNET_SOCKET=\(folder)/socket\nALTNET_SUPPLICANT_DIR=\(folder)\n"
            .appending("ALTNET_INTERFACE=lo\nALTNET_LAN_PORT=0\n")
            .write(toFile: folder + "/conf", atomically: false, encoding: .utf8)
        let manager = try NotifySocket(folder + "/notify")
        let agent = try PipedProgram(
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet",
            ["agent", "--settings", folder + "/conf"], environment: ["NOTIFY_SOCKET=\(folder)/notify"],
            errors: .nothing)
        var told: [String] = []
        while !told.contains("READY=1") {
            let message = manager.next()
            try #require(!message.isEmpty, "\(told)")
            told += message.split(separator: "\n").map(String.init)
        }
        #expect(told.contains("STATUS=waiting for Wi-Fi in the kernel"))

        let client = try await DeviceClient(connectingTo: .unixSocket(path: folder + "/socket"))
        let status = try await client.network()
        #expect(status.state == .offline)
        #expect(status.handover == .breakBeforeMake(.radioMissing))
        #expect(status.flags == .canUpdateBackups)
        #expect(try await client.backups().networks.isEmpty)
        let radio = try await client.diagnose().steps[0]
        #expect(radio.result == .broken && radio.found.contains("nl80211"))
        // What carries this machine's traffic forbids it, or else what is missing does: in this order.
        let expected: ErrorCode = status.uplink == nil ? .interfaceMissing : .cannotSwitch
        let network = NewNetwork(ssid: try SSID("Attic"), credential: .none, security: .open)
        #expect(try await refusal { try await client.switchNetwork(to: .new(network)) }.code == expected)
        let scan = try await refusal { try await client.startScan() }
        #expect(scan.code == .interfaceMissing && scan.message.contains("nl80211"))
        await client.close()
        agent.end(SIGTERM)
        #expect(agent.wait() == 0)
    }

    private func refusal(_ body: () async throws -> some Any) async throws -> ProtocolError {
        do { _ = try await body() } catch ClientError.refused(let refusal) { return refusal }
        throw ProtocolError(.internalError, "nothing was refused")
    }
}
