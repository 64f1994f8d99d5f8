import AgentModel
import AppProtocol
import Testing

@Suite struct NetworkCodeTests {
    private func read(_ code: String) throws -> NewNetwork { try NetworkCode(reading: code.utf8).network }

    private func password(_ text: String) -> NetworkCredential { .password(Secret(text: text)) }

    @Test func whatPhonesShow() throws {
        let network = try read("WIFI:S:HomeNet;T:WPA;P:correct horse;H:false;;")
        #expect(network == NewNetwork(ssid: try SSID("HomeNet"), password: Secret(text: "correct horse")))
        #expect(try read("wifi:t:sae;s:A;p:12345678;h:TRUE;;").isHidden)
        #expect(try read("WIFI:T:SAE;S:A;P:12345678;;").security == .wpa3)
        #expect(try read("WIFI:S:A;P:12345678;;").credential == password("12345678"))
        #expect(try read("WIFI:T:nopass;S:A;P:;;").credential == .none)
        #expect(try read("WIFI:S:A;;").credential == .none)
        // Of WPA3's own form, with fields that are not needed, and without the last semicolon.
        #expect(try read("WIFI:T:WPA;R:1;S:A;P:12345678;K:MDkwEwYHKoZI;").ssid.text == "A")
    }

    @Test func whatIsEscapedIsTheCharacterItself() throws {
        let network = try read(#"WIFI:T:WPA;S:a\;b\\c\,\:\";P:\"12345678\";;"#)
        #expect(network.ssid.text == #"a;b\c,:""#)
        #expect(network.credential == password("\"12345678\""))
        #expect(try read("WIFI:T:WPA;S:\"ABCD\";P:12345678;;").ssid.text == "ABCD")
        #expect(try read("WIFI:S:\";;").ssid.text == "\"")
        #expect(
            try NetworkCode(reading: Array("WIFI:S:".utf8) + [0xff, 0x00] + Array(";;".utf8)).network.ssid.bytes == [
                0xff, 0,
            ])
    }

    @Test func aNameHasOneToThirtyTwoBytes() {
        for code in ["WIFI:S:;;", "WIFI:S:" + String(repeating: "a", count: 33) + ";;"] {
            let error = #expect(throws: NetworkCodeError.self) { try read(code) }
            #expect("\(error, default: "none")".contains("SSID"))
        }
    }

    @Test(arguments: [
        ("", NetworkCodeError.notANetworkCode), ("WIFX:S:A;;", .notANetworkCode), ("WIFI:", .missing("S")),
        ("WIFI:S:A", .malformed), ("WIFI:S", .malformed), (#"WIFI:S:A\"#, .malformed),
        ("WIFI:S:A;S:B;;", .repeated("S")),
        ("WIFI:T:WPA;P:12345678;;", .missing("S")), ("WIFI:T:WPA;S:A;;", .missing("P")),
        ("WIFI:S:A;P:1234567;;", .impossiblePassword(.length(7))),
        ("WIFI:T:nopass;S:A;P:12345678;;", .passwordOfOpenNetwork), ("WIFI:T:WEP;S:A;P:12345;;", .unsupported(.wep)),
        ("WIFI:T:WPA2-EAP;S:A;P:12345678;;", .unsupported(.enterprise)),
        ("WIFI:T:X;S:A;P:12345678;;", .unsupported(.unknown)),
        ("WIFI:S:" + String(repeating: "a", count: 600) + ";;", .notANetworkCode),
    ])
    func whatIsNone(code: String, error: NetworkCodeError) {
        #expect(throws: error) { try read(code) }
        #expect(!"\(error)".contains("12345"))
    }
}
