import AgentModel
import AppProtocol
import AppServer
import Testing

/// TLS with the device's key, spoken by clients that this project did not write.
@Suite struct TransportTests {
    @Test(arguments: [[], ["-tls1_2"], ["-cipher", "ECDHE-PSK-CHACHA20-POLY1305"], ["-no_ticket"]])
    func theKeyOpens(options: [String]) async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            let client = try await OpenSSLClient.talk(to: port, OpenSSLClient.keyed + options)
            #expect(try answer(client.lines.first) == ("a", nil))
        }
        #expect(device.peers.map(\.access) == [.full])
        guard case .network("127.0.0.1", _)? = device.peers.first?.origin else {
            Issue.record("came from \(device.peers)")
            return
        }
    }

    @Test(arguments: [
        ["-psk", "00ff00ff00ff00ff00ff00ff00ff00ff", "-psk_identity", "altnet-7f3c"],
        ["-psk", String(repeating: "07", count: 31), "-psk_identity", "altnet-7f3c"],
        ["-psk", String(repeating: "07", count: 32), "-psk_identity", "altnet-7f3d"],
        ["-psk", String(repeating: "07", count: 32), "-psk_identity", ""],
        OpenSSLClient.keyed + ["-tls1_3"], OpenSSLClient.keyed + ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
        OpenSSLClient.keyed + ["-tls1_2", "-cipher", "PSK-AES256-CBC-SHA"],
        OpenSSLClient.keyed + ["-tls1_2", "-cipher", "ECDHE-PSK-AES128-CBC-SHA"],
        OpenSSLClient.keyed + ["-tls1_2", "-cipher", "PSK-CHACHA20-POLY1305"],
        ["-tls1_2"], [],
    ])
    func nothingElseDoes(options: [String]) async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            let client = try await OpenSSLClient.talk(to: port, options)
            #expect(client.lines == [])
            // The owner is served as before.
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
        #expect(device.bodies == [.getNetwork])
    }

    /// Ids cannot be probed.
    @Test func anotherDevicesIdLooksLikeAWrongKey() async throws {
        try await withNetworkServer { _, port async throws in
            var errors: [String] = []
            for identity in ["altnet-7f3c", "altnet-7f3d"] {
                let options = ["-psk", "00ff00ff00ff00ff00ff00ff00ff00ff", "-psk_identity", identity]
                let text = try await OpenSSLClient.talk(to: port, options).errors
                // Without the addresses in openssl's memory.
                errors.append(text.split(separator: ":").filter { $0.contains("alert") }.joined())
            }
            #expect(errors[0] == errors[1])
            #expect(errors[0].contains("alert"))
        }
    }

    @Test func bothInternetProtocolsLeadIn() async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            for host in ["127.0.0.1", "::1"] {
                #expect(try await KeyedClient.connecting(to: port, at: host).ask() == nil)
            }
        }
        #expect(
            device.peers.map { "\($0)".prefix { $0 != "," } } == ["127.0.0.1", "::1"])
    }
}
