import AppServer
import Glibc
import Logging
import NIOPosix
import Testing

@testable import Agent
@testable import AgentCore

/// Starting without the parts that the agent needs.
@Suite struct StartTests {
    private func settings(_ folder: String) throws -> AgentSettings {
        try AgentSettings(environment: [
            "ALTNET_STATE_DIR": folder, "ALTNET_SOCKET": folder + "/altnet.sock", "ALTNET_SUPPLICANT_DIR": folder,
        ])
    }

    @Test(.disabled(if: access("/sys/class/ieee80211", F_OK) == 0, "this kernel has nl80211"))
    func aKernelWithoutWiFiMayGetIt() async throws {
        try await inFolder { folder in
            let agent = try await DeviceAgent.prepare(
                settings: settings(folder), hub: EventHub(), on: MultiThreadedEventLoopGroup.singleton,
                log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            #expect(await !agent.core.isInterfaceUp)
            #expect(await agent.core.missingInterface?.message.contains("nl80211") == true)
        }
    }
}
