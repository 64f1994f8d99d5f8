import AgentModel
import AppClient
import FoundationEssentials
import Glibc
import Lab
import Testing

extension Radios {
    /// Wi-Fi Easy Connect with the real hostapd as the configurator, which has read the device's code.
    @Suite(.onSoftMAC("brcmfmac of Linux 6.1 sends no public action frames of DPP"))
    struct EasyConnectTests {
        private func code(_ device: Device, _ lab: Lab) async throws -> String {
            let program = try await lab.start(
                Device.binary, ["pair", "--show", "--easy-connect", "--state-dir", lab.directory + "/altnet"],
                log: "code")
            try await eventually(within: .seconds(30), "the code") { !program.isRunning }
            let code = try String(contentsOfFile: program.log, encoding: .utf8)
            return String(code.prefix { $0 != "\n" })
        }

        /// From the code to a ping; a network with a wrong password first, which is told in the device's history.
        @Test func theCodeGivesTheFirstNetwork() async throws {
            try await scenario("easy connect") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 6)
                try await home.powerOn()
                try await lab.station.startSupplicant()
                let device = Device(in: lab, settings: ["ALTNET_DPP": "unprovisioned"])
                try await device.start()
                let code = try await code(device, lab)
                #expect(code.hasPrefix("DPP:C:81/6;K:"))
                func listening() async -> Int {
                    await device.log.split(separator: "listening for a Wi-Fi", omittingEmptySubsequences: false)
                        .count - 1
                }
                try await eventually(within: .seconds(20), "the device to listen") { await listening() > 0 }

                // Another key's code: the device does not answer. An attempt of the configurator ends by itself.
                try await give(to: Self.strangersCode, "home-password", by: home)
                try await Task.sleep(for: .seconds(5))
                #expect(await !device.log.contains("read the device's"))

                try await give(to: code, "wrong-password", by: home)
                try await eventually(within: .seconds(90), "the reason") { await device.log.contains("wrongKey") }
                try await eventually(within: .seconds(60), "the device to listen again") { await listening() > 1 }

                let began = ContinuousClock.now
                try await give(to: code, "home-password", by: home)
                try await device.online(on: home, within: .seconds(60))
                try await lab.pinger().reply(within: .seconds(5))
                lab.report("Easy Connect, from the code to a ping", ContinuousClock.now - began)
                // It is stored when the switch stands.
                try await eventually(within: .seconds(10), "home to be stored") {
                    let list = try await device.ask { client throws(ClientError) in try await client.backups() }
                    return list.home?.ssid == home.ssid
                }
            }
        }

        /// A device that was given another identity: its code of before is a key that it has no more.
        @Test(.extended) func aRevokedCodeOpensNothing() async throws {
            try await scenario("easy connect revoked") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 6)
                try await home.powerOn()
                try await lab.station.startSupplicant()
                let device = Device(in: lab, settings: ["ALTNET_DPP": "unprovisioned"])
                try await device.start()
                let revoked = try await code(device, lab)
                await device.stop()
                for file in ["device-id", "local-key"] {
                    try FileManager.default.removeItem(atPath: "\(lab.directory)/altnet/\(file)")
                }
                unlink("\(lab.directory)/code.log")
                let mark = await device.log.utf8.count
                try await device.start()
                func said(_ text: String) async -> Bool {
                    String(decoding: await device.log.utf8.dropFirst(mark), as: UTF8.self).contains(text)
                }
                let code = try await code(device, lab)
                #expect(code != revoked)
                try await eventually(within: .seconds(20), "the device to listen") {
                    await said("listening for a Wi-Fi")
                }
                try await give(to: revoked, "home-password", by: home)
                try await Task.sleep(for: .seconds(10))
                #expect(await !said("read the device's") && device.status?.state != .online)
                try await give(to: code, "home-password", by: home)
                try await device.online(on: home, within: .seconds(60))
            }
        }

        /// Power cuts while a network is given: the device is new, or has the network.
        @Test(.extended) func thePowerIsCutAtEachStep() async throws {
            try await scenario("easy connect power cuts") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 6)
                try await home.powerOn()
                try await lab.station.startSupplicant()
                let device = Device(in: lab, settings: ["ALTNET_DPP": "unprovisioned"])
                var outcomes: [Bool] = []
                for step in ["read the device's", "sent the network", "join", "online"] {
                    let mark = await device.log.utf8.count
                    try await device.start()
                    func said(_ text: String) async -> Bool {
                        String(decoding: await device.log.utf8.dropFirst(mark), as: UTF8.self).contains(text)
                    }
                    try await eventually(within: .seconds(30), "the device to listen") {
                        await said("listening for a Wi-Fi")
                    }
                    unlink("\(lab.directory)/code.log")
                    try await give(to: code(device, lab), "home-password", by: home)
                    try await eventually(within: .seconds(60), step) {
                        switch step {
                        case "join": !device.way().isEmpty
                        case "online": device.status?.state == .online
                        default: await said(step)
                        }
                    }
                    await device.kill()
                    try await device.start()
                    let list = try await device.ask { client throws(ClientError) in try await client.backups() }
                    outcomes.append(list.home != nil)
                    #expect(list.networks.isEmpty && list.chosen == nil)
                    if list.home != nil {
                        try await device.online(on: home, within: .seconds(30))
                        _ = try await device.ask { client throws(ClientError) in
                            try await client.updateBackups([], home: .forget)
                        }
                    }
                    await device.kill()
                }
                #expect(outcomes.first == false && outcomes.last == true, "\(outcomes)")
            }
        }

        /// A key that no device here has.
        private static let strangersCode =
            "DPP:C:81/6;K:MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADM2206avxHJaHXgLMkq/24e0rsrfMP9K1Tm8gx+ovP0I=;;"

        /// The configurator reads a code, and offers the network.
        private func give(to code: String, _ password: String, by configurator: AccessPoint) async throws {
            func number(_ command: String) async throws -> Int {
                let answer = try await configurator.ask(command)
                return try #require(Int(answer.filter { $0 != "\n" }), "\(command): \(answer)")
            }
            let own = try await number("DPP_CONFIGURATOR_ADD")
            let peer = try await number("DPP_QR_CODE \(code)")
            let name = Hex.string(Array(configurator.ssid.bytes)), pass = Hex.string(Array(password.utf8))
            let answer = try await configurator.ask(
                "DPP_AUTH_INIT peer=\(peer) conf=sta-psk ssid=\(name) pass=\(pass) configurator=\(own)")
            #expect(answer == "OK\n")
        }
    }
}
