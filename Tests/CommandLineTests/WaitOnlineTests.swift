import AgentModel
import AppClient
import AppProtocol
import AppServer
import Foundation
import TestTime
import Testing

@testable import altnet

@Suite(.timeLimit(.minutes(5))) struct WaitOnlineTests {
    private static func device(_ state: LinkState, uplink: Uplink? = nil) throws -> ScriptedDevice {
        try ScriptedDevice {
            $0.network.state = state
            $0.network.uplink = uplink
        }
    }

    @Test func anOnlineDeviceEndsIt() async throws {
        let run = try await CommandRun.altnet(["wait-online"], device: Self.device(.online))
        #expect(run.status == 0 && run.output.isEmpty)
        let wired = try Self.device(.offline, uplink: .wired)
        #expect(try await CommandRun.altnet(["wait-online"], device: wired).status == 0)
        let json = try await CommandRun.altnet(["wait-online", "--json"], device: Self.device(.online))
        #expect(json.output.contains("HomeNet"))
    }

    @Test func aLinkThatIsNotCheckedIsNotOnline() async throws {
        let device = try Self.device(.online)
        device.network.connectivity = Connectivity(level: .lan, required: .internet, internet: .unknown)
        async let waiting = CommandRun.altnet(["wait-online", "--within", "86400"], device: device)
        try await device.isAsked(.getNetwork)
        // Behind a captive portal it is checked, and not online.
        device.network.connectivity?.checked = device.network.since
        device.hub.publish(.backupsChanged(device.backups))
        device.network.connectivity?.level = .internet
        device.hub.publish(.backupsChanged(device.backups))
        #expect(try await waiting.status == 0)
    }

    @Test func itEndsOnceTheDeviceIsOnline() async throws {
        let device = try Self.device(.offline)
        async let waiting = CommandRun.altnet(["wait-online", "--within", "86400"], device: device)
        try await device.isAsked(.getNetwork)
        device.network.state = .online
        device.hub.publish(.backupsChanged(device.backups))
        #expect(try await waiting.status == 0)
    }

    @Test func theTimeIsLimited() async throws {
        let device = try Self.device(.offline)
        try await CommandRun.serving(device) { socket in
            let clock = SteppedClock()
            let wait = OnlineWait(clock: clock) {
                try await DeviceClient(connectingTo: .unixSocket(path: socket), timeout: .seconds(600))
            }
            async let status = wait.run(within: .seconds(60))
            try await device.isAsked(.getNetwork)
            try await clock.sleeps(for: .seconds(60))
            clock.advance(by: .seconds(60))
            #expect(try await status == nil)
        }
    }

    @Test func itWaitsForTheAgentToo() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let clock = SteppedClock()
        let wait = OnlineWait(clock: clock) {
            try await DeviceClient(connectingTo: .unixSocket(path: folder + "/s"), timeout: .seconds(600))
        }
        async let status = wait.run(within: .seconds(60))
        try await clock.sleeps(for: OnlineWait.pause)
        let device = try Self.device(.online)
        let server = AppServer(unix: UnixListenerSettings(path: folder + "/s"), service: device, hub: device.hub)
        try await server.start()
        clock.advance(by: OnlineWait.pause)
        #expect(try await status?.state == .online)
        await server.stop()
    }

    @Test(arguments: [
        ClientError.keyRefused(.unixSocket(path: "/s")), .notPermitted(.unixSocket(path: "/s")),
        .notTheDevice(.unixSocket(path: "/s")), .refused(ProtocolError(.notPermitted, "no")),
    ])
    func aRefusalEndsItAtOnce(error: ClientError) async throws {
        let wait = OnlineWait(clock: SteppedClock()) { throw error }
        await #expect(throws: error) { try await wait.run(within: .seconds(60)) }
    }

    @Test(arguments: ["0", "86401", "x"]) func aTimeThatIsNoneIsRefused(time: String) async throws {
        #expect(try await CommandRun.altnet(["wait-online", "--within", time], device: ScriptedDevice()).status == 64)
    }
}
