import AgentModel
import AppProtocol
import FoundationEssentials
import Glibc
import Lab
import Testing

extension Radios {
    /// A real captive portal, and programs that sign in there.
    @Suite struct PortalTests {
        /// Starts a host with one program and returns the socket that agents reach it by.
        private func provider(_ name: String, _ script: String, in lab: Lab) async throws -> String {
            let directory = "\(lab.directory)/providers"
            let socket = "\(lab.directory)/providers.sock"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let path = "\(directory)/\(name)"
            try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
            try #require(chmod(path, 0o755) == 0)
            _ = try await lab.start(
                Device.binary, ["providers", "--directory", directory, "--listen", socket], log: "providers")
            try await eventually(within: .seconds(10), "the providers' host to listen") { access(socket, F_OK) == 0 }
            return socket
        }

        @Test func aProviderSignsInAndStaysSignedIn() async throws {
            try await scenario("provider signs in", accessPoints: 2) { lab in
                let script = "exec \(Device.binary) provider click-through"
                let socket = try await provider("click-through", script, in: lab)
                let house = try await House(lab, upstream: lab.upstream(), settings: ["ALTNET_PROVIDERS": socket])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.captivePortal(true)
                try await house.device.connectivity(within: .seconds(60), "the provider to have signed in") {
                    $0.portal?.state == .authenticated && $0.portal?.provider == "click-through"
                }
                let signedIn = ContinuousClock.now
                try await house.device.broker(.ready, within: .seconds(30))
                #expect(house.device.connectivity?.internet == .yes)

                // A session that ends sooner is no reason to sign in at once again, but to look elsewhere.
                try await eventually(within: .seconds(40), "the session to have lasted") {
                    let connectivity = house.device.connectivity
                    try #require(connectivity?.internet == .yes && connectivity?.portal?.provider == "click-through")
                    return .now - signedIn > .seconds(31)
                }
                try await house.home.signEverybodyOut()
                try await house.device.connectivity(within: .seconds(30), "the end of the session to be noticed") {
                    $0.internet != .yes || $0.level != .target
                }
                try await house.expectBroker(through: house.home, within: .seconds(60))
                house.expectWay([], since: mark)
            }
        }

        @Test func aProviderCrashes() async throws {
            try await scenario("provider crashes", accessPoints: 2) { lab in
                let socket = try await provider("crash", "read -r _; kill -SEGV $$", in: lab)
                let house = try await House(lab, upstream: lab.upstream(), settings: ["ALTNET_PROVIDERS": socket])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.captivePortal(true)
                try await house.expectBroker(through: house.backup, within: .seconds(60))
                house.expectWay([house.backup], since: mark)
                #expect(await house.device.isRunning)
            }
        }

        @Test func nobodySignsIn() async throws {
            try await scenario("nobody signs in") { lab in
                let upstream = try await lab.upstream()
                let home = try await lab.accessPoint("HomeNet", security: .open, channel: 1)
                try await home.connect(to: upstream)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab, settings: House.servers)
                try await device.broker(.ready, within: .seconds(15))
                try await home.captivePortal(true)
                try await device.connectivity(within: .seconds(30), "the portal to be found") {
                    $0.internet == .captive && $0.portal?.url == "http://\(home.gateway)/splash"
                }
                let broken = try await device.diagnosis().steps.first { $0.result == .broken }
                #expect(broken?.layer == .internet)
                #expect(try await device.commandLine(["status"]).contains("http://\(home.gateway)/splash"))
            }
        }
    }
}
