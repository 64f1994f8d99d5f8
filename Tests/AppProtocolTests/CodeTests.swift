import AgentModel
import AppProtocol
import Foundation
import Randomness
import Testing

@Suite struct PairingCodeTests {
    private static let key = "0123456789abcdef0123456789abcdef"
    private static let code = "altnet://pair?v=1&id=lamp-01&key=\(key)"
    private static let certificate = String(repeating: "0f", count: 32)

    private func read(_ text: String) throws -> DeviceKey { try PairingCode(reading: text.utf8).device }

    @Test func saysTheDeviceAndItsKey() throws {
        let device = try DeviceKey(deviceId: "lamp-01", localKey: Secret(text: Self.key))
        #expect(PairingCode(device).uri() == Self.code)
        #expect(try read(Self.code) == device)
        #expect(!"\(PairingCode(device))".contains(Self.key))
    }

    /// A URI that parsers of others read, whatever is in the name.
    @Test func saysWhoseKeyItIs() throws {
        let device = try DeviceKey(
            deviceId: "lamp-01", localKey: Secret(text: Self.key), name: #require(KeyName("Anna's phone & Søn")),
            certificate: CertificateFingerprint(#require(Hex.bytes(Self.certificate))))
        let uri = PairingCode(device, isInvitation: true).uri()
        #expect(
            uri == Self.code + "&name=Anna%27s%20phone%20%26%20S%C3%B8n&cert=\(Self.certificate)&claim=1")
        let code = try PairingCode(reading: uri.utf8)
        #expect(code.device == device && code.isInvitation)
        let parsed = try #require(URLComponents(string: uri))
        #expect(parsed.scheme == "altnet" && parsed.host == "pair")
        #expect(parsed.queryItems?.first { $0.name == "name" }?.value == "Anna's phone & Søn")
    }

    @Test(arguments: [
        "&name=", "&name=%00", "&name=%ff", "&name=" + String(repeating: "a", count: 65), "&cert=", "&cert=0f",
        "&cert=\(String(repeating: "zz", count: 32))", "&claim=2", "&claim=1", "&name=owner&claim=1",
    ])
    func itsOtherPartsAreChecked(part: String) {
        #expect(throws: PairingCodeError.malformed) { try read(Self.code + part) }
    }

    /// As other writers may write it.
    @Test(arguments: [
        "altnet:pair?v=1&id=lamp-01&key=\(key)", "Altnet://Pair/?v=1&id=lamp-01&key=\(key)&name=owner&claim=0",
        "ALTNET:PAIR?v=1&id=lamp-01&key=\(key)", "altnet:pair?key=\(key)&model=7&id=lamp%2D01&v=1",
        "altnet:pair?v=1&id=%6camp-01&key=%30123456789abcdef0123456789abcdef&host=",
    ])
    func isReadHoweverItIsWritten(code: String) throws {
        #expect(try read(code) == DeviceKey(deviceId: "lamp-01", localKey: Secret(text: Self.key)))
    }

    @Test(arguments: [
        ("", PairingCodeError.notAPairingCode), ("https://example.com/?v=1", .notAPairingCode),
        ("altnet:pair", .notAPairingCode),
        ("altnet:pairs?v=1", .notAPairingCode), (code + String(repeating: "&x=y", count: 300), .notAPairingCode),
        ("altnet:pair?", .malformed), (code + "&", .malformed), (code + "&x", .malformed),
        ("altnet:pair?v=1&id=a b", .malformed),
        ("altnet:pair?v=1&id=%", .malformed), ("altnet:pair?v=1&id=%4", .malformed),
        ("altnet:pair?v=1&id=%zz", .malformed),
        ("altnet:pair?v=1&id=\u{e9}", .malformed),
        ("altnet:pair?id=lamp-01&key=\(key)", .missing("v")), ("altnet:pair?v=1&key=\(key)", .missing("id")),
        ("altnet:pair?v=1&id=lamp-01", .missing("key")), ("altnet:pair?v=2", .otherVersion),
        ("altnet:pair?v=01&id=a&key=\(key)", .otherVersion), (code + "&id=desk", .repeated("id")),
    ])
    func isRefused(code: String, error: PairingCodeError) {
        #expect(throws: error) { try read(code) }
    }

    @Test(arguments: [
        "altnet:pair?v=1&id=&key=\(key)", "altnet:pair?v=1&id=a%20b&key=\(key)", "altnet:pair?v=1&id=a%00&key=\(key)",
        "altnet:pair?v=1&id=a%ff&key=\(key)", "altnet:pair?v=1&id=a&key=0123456789abcde",
    ])
    func noDeviceIsLikeThat(code: String) {
        let error = #expect(throws: PairingCodeError.self) { try read(code) }
        guard case .impossibleDevice = error else { return #expect(Bool(false), "\(String(describing: error))") }
    }

    @Test func everyDeviceComesBack() throws {
        var random = SeededRandom(seed: 5)
        for _ in 0..<500 {
            let id = (0..<Int.random(in: 1...64, using: &random)).map { _ in
                UInt8.random(in: 0x21...0x7e, using: &random)
            }
            let key = (0..<Int.random(in: 16...64, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
            let device = try DeviceKey(deviceId: String(decoding: id, as: UTF8.self), localKey: Secret(key))
            let uri = PairingCode(device).uri()
            #expect(uri.utf8.count <= PairingCode.maximumLength)
            #expect(try read(uri) == device)
        }
    }

    @Test func damageIsAnErrorOrAnotherCode() {
        var random = SeededRandom(seed: 6)
        for _ in 0..<5000 {
            var bytes = Array(Self.code.utf8)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(bytes[Int.random(in: bytes.indices, using: &random)], at: place)
                }
            }
            // The result is a device with the same code.
            if let device = try? PairingCode(reading: bytes).device {
                #expect((try? PairingCode(reading: PairingCode(device).uri().utf8).device) == device)
            }
        }
    }
}

@Suite struct NetworkCodeTests {
    private func read(_ code: String) throws -> NewNetwork { try NetworkCode(reading: code.utf8).network }

    private func password(_ text: String) -> NetworkCredential { .password(Secret(text: text)) }

    // covers: seed/user-phone
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
