import AgentModel
import AppClient
import AppProtocol
import Lab
import Testing

extension Radios {
    /// Networks with users: WPA2-Enterprise, by hostapd's own EAP server.
    @Suite struct EnterpriseTests {
        /// A home with a password, where the device is, and a network with users beside it.
        private struct Works {
            let home: AccessPoint
            let works: AccessPoint
            let server: EnterpriseServer
            let device: Device

            init(_ lab: Lab, validFor days: Int = 30) async throws {
                try LabClock.isKnown(true)
                server = try EnterpriseServer(in: lab, validFor: days)
                home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1, signal: -65)
                works = try await lab.accessPoint(
                    "Works", security: .open, channel: 6, signal: -50, settings: server.settings)
                try await home.powerOn()
                try await works.powerOn()
                device = try await Device.atHome(home, in: lab)
            }

            func join(_ credential: EnterpriseCredential, within limit: Duration = .seconds(90)) async throws
                -> SwitchStatus
            {
                let network = NewNetwork(ssid: works.ssid, credential: .enterprise(credential), security: .enterprise)
                let accepted = try await device.ask { client throws(ClientError) in
                    try await client.switchNetwork(to: .new(network))
                }
                return try await device.outcome(of: accepted, within: limit)
            }
        }

        /// The device is where it was, and traffic flows.
        private func expectHome(_ scene: Works, _ outcome: SwitchStatus, _ reason: String, in lab: Lab) async throws {
            #expect(outcome.phase == .rolledBack)
            #expect(outcome.reason?.rawValue == reason)
            try await scene.device.online(on: scene.home, within: .seconds(30))
            #expect(try await lab.station.network() == scene.home.ssid)
        }

        // covers: seed/enterprise
        @Test func peapIsJoinedAndOnlyTheRightServer() async throws {
            try await scenario("enterprise network by PEAP", accessPoints: 2) { lab in
                let scene = try await Works(lab)
                let stranger = try EnterpriseServer(in: lab, named: "stranger")

                let untrusted = try await scene.join(scene.server.credential(.peap, trusting: stranger))
                try await expectHome(scene, untrusted, "certificateRefused", in: lab)
                #expect(await scene.device.log.contains("by the stored authority"))

                let refused = try await scene.join(scene.server.credential(.peap, password: "wrong-password"))
                try await expectHome(scene, refused, "wrongKey", in: lab)

                let joined = try await scene.join(scene.server.credential(.peap))
                #expect(joined.phase == .committed, "\(joined.text ?? "")")
                #expect(try await lab.station.network() == scene.works.ssid)
                #expect(try await scene.device.network().ssid == scene.works.ssid)

                // The key file has it: a new agent joins by it.
                await scene.device.stop()
                await lab.station.killSupplicant()
                try await lab.station.startSupplicant()
                try await scene.device.start()
                try await scene.device.online(on: scene.works, within: .seconds(40))
                #expect(try await lab.station.network() == scene.works.ssid)
                let log = await scene.device.log
                #expect(!log.contains(EnterpriseServer.password))
            }
        }

        // covers: seed/enterprise
        @Test(
            .extended,
            arguments: [
                (EnterpriseCredential.Method.ttls, EnterpriseCredential.Inner?.some(.pap)), (.ttls, .mschapv2),
                (.tls, nil),
            ])
        func otherMethodsAreJoined(
            _ method: EnterpriseCredential.Method, _ inner: EnterpriseCredential.Inner?
        ) async throws {
            let name = "\(method.rawValue)\(inner.map { " with \($0.rawValue)" } ?? "")"
            try await scenario("enterprise network by \(name)", accessPoints: 2) { lab in
                let scene = try await Works(lab)
                let joined = try await scene.join(scene.server.credential(method, inner: inner))
                #expect(joined.phase == .committed, "\(joined.text ?? "")")
                #expect(try await lab.station.network() == scene.works.ssid)
                #expect(try await scene.device.network().ssid == scene.works.ssid)
            }
        }

        // covers: seed/enterprise
        @Test(.extended) func aServerByAnotherNameIsRefused() async throws {
            try await scenario("enterprise server by another name", accessPoints: 2) { lab in
                let scene = try await Works(lab)
                let other = try await scene.join(scene.server.credential(.tls, serverName: "other.lab.example"))
                try await expectHome(scene, other, "certificateRefused", in: lab)
                #expect(await scene.device.log.contains("for another name"))
                let domain = try await scene.join(scene.server.credential(.tls, serverName: "lab.example"))
                #expect(domain.phase == .committed, "the end of the name is enough")
            }
        }

        @Test(.extended) func anExpiredCertificateIsRefusedWhereTheTimeIsKnown() async throws {
            try await scenario("enterprise server with an expired certificate", accessPoints: 2) { lab in
                let scene = try await Works(lab, validFor: -1)
                let outcome = try await scene.join(scene.server.credential(.peap))
                try await expectHome(scene, outcome, "certificateRefused", in: lab)
                #expect(await scene.device.log.contains("certificate has expired"))
            }
        }

        /// In 1970, and weeks behind: it joins. As the time is known the server has to show its certificate again, and the
        /// device is back in a moment.
        // covers: seed/no-clock
        @Test(.extended, arguments: [nil, 21 * 86_400]) func aBoardWithoutAClockJoins(behind: Int?) async throws {
            try await scenario("enterprise network without a clock", accessPoints: 2) { lab in
                let scene = try await Works(lab)
                let stranger = try EnterpriseServer(in: lab, named: "stranger")
                // The kernel takes no time before that of its start.
                let back = behind ?? LabClock.time - 86_400
                try LabClock.isKnown(false)
                try LabClock.move(by: -back)
                var isBehind = true
                defer { if isBehind { try? LabClock.move(by: back) } }

                let untrusted = try await scene.join(scene.server.credential(.peap, trusting: stranger))
                try await expectHome(scene, untrusted, "certificateRefused", in: lab)

                let joined = try await scene.join(scene.server.credential(.peap))
                #expect(joined.phase == .committed, "\(joined.text ?? "")")
                #expect(await scene.device.log.contains("clock is not set"))

                try LabClock.move(by: back)
                isBehind = false
                try LabClock.isKnown(true)
                try await eventually(within: .seconds(45), "the server to show its certificate again") {
                    await scene.device.log.contains("clock is set")
                }
                try await eventually(within: .seconds(5), "it to be accepted") {
                    await scene.works.hostapdLog.components(of: "CTRL-EVENT-EAP-SUCCESS") == 2
                }
                try await scene.device.online(on: scene.works, within: .seconds(5))
                try await Task.sleep(for: .seconds(10))
                #expect(try await lab.station.network() == scene.works.ssid)
                #expect(await scene.works.hostapdLog.components(of: "CTRL-EVENT-EAP-SUCCESS") == 2)
            }
        }

        /// What was joined without a clock is left as soon as it is known that its certificate has expired.
        // covers: seed/no-clock
        @Test(.extended) func anExpiredCertificateIsFoundOutLater() async throws {
            try await scenario("expired certificate without a clock", accessPoints: 2) { lab in
                let scene = try await Works(lab, validFor: -1)
                // The machine's other clock, with a battery, would say that the time is right.
                let back = 21 * 86_400
                try LabClock.isKnown(false)
                try LabClock.move(by: -back)
                var isBehind = true
                defer { if isBehind { try? LabClock.move(by: back) } }
                let joined = try await scene.join(scene.server.credential(.peap))
                #expect(joined.phase == .committed, "\(joined.text ?? "")")
                try LabClock.move(by: back)
                isBehind = false
                try LabClock.isKnown(true)
                try await scene.device.online(on: scene.home, within: .seconds(90))
                try await eventually(within: .seconds(400), "the reason to be told") {
                    await scene.device.log.contains("certificate has expired")
                }
                try await scene.device.online(on: scene.home, within: .seconds(30))
            }
        }

        /// A network with a password that bears the name of one with users.
        @Test(.extended, arguments: [NetworkSecurity.wpa2("any-password"), .open])
        func aTwinWithoutUsersIsNotJoined(_ security: NetworkSecurity) async throws {
            try await scenario("twin of an enterprise network", accessPoints: 3) { lab in
                let scene = try await Works(lab)
                let twin = try await lab.accessPoint("Works", security: security, channel: 11, signal: -30)
                try await twin.powerOn()
                let joined = try await scene.join(scene.server.credential(.ttls))
                #expect(joined.phase == .committed, "\(joined.text ?? "")")
                try await scene.works.powerOff()
                try await scene.device.online(on: scene.home, within: .seconds(60))
                let results = try await scene.device.ask { client throws(ClientError) in
                    try await client.scanResults()
                }
                #expect(results.networks.first { $0.bssid == twin.bssid }?.refusal == .lessSecure)
                #expect(await !twin.hostapdLog.contains("\(lab.station.radioAddress)"))
            }
        }
    }
}

extension String {
    /// How often a text is in it.
    fileprivate func components(of text: String) -> Int {
        split(separator: text, omittingEmptySubsequences: false).count - 1
    }
}
