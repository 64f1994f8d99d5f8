import AgentModel
import Testing

@testable import Supplicant

/// Lines as wpa_supplicant 2.10 writes them.
@Suite struct EasyConnectTests {
    private func read(_ lines: [String]) -> [EasyConnectEvent] {
        var reception = EasyConnectReception()
        return lines.compactMap { line in
            guard case .easyConnect(let line) = ControlEvent(line[...]) else { return nil }
            return reception.handle(line)
        }
    }

    private static let network = [
        "DPP-RX src=02:00:00:00:01:00 freq=2437 type=0", "DPP-TX dst=02:00:00:00:01:00 freq=2437 type=1",
        "DPP-AUTH-SUCCESS init=0", "DPP-CONF-RECEIVED", "DPP-CONFOBJ-AKM psk", "DPP-CONFOBJ-SSID Home net",
        "DPP-CONFOBJ-PASS 686f6d652d70617373776f7264",
    ]

    @Test func aNetworkWithAPassphrase() throws {
        let network = EasyConnectNetwork(
            ssid: try SSID("Home net"), password: Secret(text: "home-password"), isForSAE: false)
        #expect(read(Self.network) == [.authenticated, .network(network)])
    }

    @Test func aKeyInThePassphrasesPlaceAndSAE() throws {
        let key = String(repeating: "0a", count: 32)
        let lines = [
            "DPP-CONF-RECEIVED", "DPP-CONFOBJ-AKM psk", #"DPP-CONFOBJ-SSID Caf\xc3\xa9"#, "DPP-CONFOBJ-PSK \(key)",
        ]
        #expect(
            read(lines) == [
                .network(
                    EasyConnectNetwork(ssid: try SSID("Caf\u{e9}"), password: Secret(text: key), isForSAE: false))
            ])
        let sae = ["DPP-CONF-RECEIVED", "DPP-CONFOBJ-AKM sae", "DPP-CONFOBJ-SSID A", "DPP-CONFOBJ-PASS 61"]
        #expect(
            read(sae) == [
                .network(EasyConnectNetwork(ssid: try SSID("A"), password: Secret(text: "a"), isForSAE: true))
            ])
    }

    @Test func aNetworkOfDPPsOwn() {
        let lines = ["DPP-CONF-RECEIVED", "DPP-CONFOBJ-AKM dpp", "DPP-CONFOBJ-SSID A", "DPP-CONNECTOR eyJ0"]
        guard case .failed? = read(lines).first else { return #expect(Bool(false)) }
        // Where either will do, the password is taken.
        let either = ["DPP-CONF-RECEIVED", "DPP-CONFOBJ-AKM dpp+psk+sae", "DPP-CONFOBJ-SSID A", "DPP-CONNECTOR eyJ0"]
        #expect(read(either).isEmpty)
        #expect(read(either + ["DPP-CONFOBJ-PASS 6161616161616161"]).count == 1)
    }

    @Test(arguments: [
        "DPP-CONFOBJ-PASS", "DPP-CONFOBJ-PASS 6", "DPP-CONFOBJ-PASS zz", "DPP-CONFOBJ-PSK 00", "DPP-CONFOBJ-SSID ",
        "DPP-CONFOBJ-SSID " + String(repeating: "a", count: 33), "DPP-", "DPP-CONFOBJ-AKM",
        "DPP-CONFOBJ-PASS " + String(repeating: "61", count: 129),
    ])
    func linesThatAreNone(line: String) {
        #expect(read(["DPP-CONF-RECEIVED", line, "DPP-CONFOBJ-PASS 6161616161616161"]).isEmpty)
    }

    /// A password that belongs to nothing: of a conversation of before, or before its beginning.
    @Test func linesOutOfOrder() {
        #expect(read(["DPP-CONFOBJ-SSID A", "DPP-CONFOBJ-PASS 6161616161616161"]).isEmpty)
        #expect(
            read([
                "DPP-CONF-RECEIVED", "DPP-CONFOBJ-SSID A", "DPP-CONF-RECEIVED", "DPP-CONFOBJ-PASS 6161616161616161",
            ]).isEmpty)
        #expect(
            read(["DPP-CONF-RECEIVED", "DPP-CONFOBJ-SSID A", "DPP-FAIL x", "DPP-CONFOBJ-PASS 6161616161616161"])
                == [.failed("DPP-FAIL x")])
    }

    @Test func theKeyIsNoWordOfAnError() throws {
        let command = ControlCommand(easyConnectKey: Secret([1, 0xab]))
        #expect(command.name == "DPP_BOOTSTRAP_GEN")
        let sent = try command.withBytes { String(decoding: $0, as: UTF8.self) }
        #expect(sent == "DPP_BOOTSTRAP_GEN type=qrcode key=01ab")
    }
}
