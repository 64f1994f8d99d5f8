import AgentModel
import Randomness
import Testing

@testable import Supplicant

@Suite struct ReadingTests {
    @Test(arguments: Fixture.all) func understandsARecordedJoin(_ fixture: Fixture) {
        var progress = JoinProgress(network: fixture.network)
        var effects: [JoinProgress.Effect] = []
        var refined: JoinFailure?
        for line in fixture.lines {
            let event = ControlEvent(line[...])
            if case .failed(let failure) = effects.first {
                let better = JoinProgress.refined(failure, by: event, network: fixture.network)
                if better != failure { refined = better }
            } else if let effect = progress.handle(event) {
                effects.append(effect)
            }
        }
        #expect(effects == [fixture.effect])
        #expect(refined == fixture.refined)
    }

    @Test(arguments: [
        ("CTRL-EVENT-ASSOC-REJECT bssid=02:00:00:00:01:00 status_code=17", JoinFailure.accessPointFull),
        ("CTRL-EVENT-ASSOC-REJECT status_code=33", .accessPointFull),
        ("CTRL-EVENT-ASSOC-REJECT bssid=02:00:00:00:01:00 status_code=1", .rejected),
        ("CTRL-EVENT-ASSOC-REJECT bssid=02:00:00:00:01:00 status_code=1 timeout=assoc", .timeout),
        ("CTRL-EVENT-ASSOC-REJECT status_code=16", .timeout),
        ("CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=3 auth_transaction=2 status_code=15", .wrongKey),
        ("CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=3 auth_transaction=1 status_code=1", .rejected),
        ("CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=3 auth_transaction=1 status_code=17", .accessPointFull),
        ("CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=0 auth_transaction=2 status_code=37 ie=0102", .rejected),
        ("Authentication with 02:00:00:00:01:00 timed out.", .timeout),
        ("CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid=\"x\" auth_failures=4 duration=60 reason=CONN_FAILED", .timeout),
        ("CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid=\"x\" auth_failures=1 duration=10 reason=AUTH_FAILED", .rejected),
        ("CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid=\" reason=CONN_FAILED\" auth_failures=1 reason=WRONG_KEY", .wrongKey),
    ])
    func tellsFailuresApart(_ line: String, _ failure: JoinFailure) {
        var progress = JoinProgress(network: 0)
        #expect(progress.handle(ControlEvent(line[...])) == .failed(failure))
    }

    @Test func tellsWhenALinkEnded() {
        let end = ControlEvent("CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=2")
        let ownEnd = ControlEvent("CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=3 locally_generated=1")
        let busy = ControlEvent("CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=5")
        var searching = JoinProgress(network: 0)
        #expect(searching.handle(end) == nil)
        var authenticating = searching
        #expect(authenticating.handle(.authenticating) == nil)
        var copy = authenticating
        #expect(copy.handle(end) == .failed(.rejected))
        copy = authenticating
        #expect(copy.handle(ownEnd) == .failed(.timeout))
        var associated = authenticating
        #expect(associated.handle(.associated) == nil)
        copy = associated
        #expect(copy.handle(end) == .failed(.linkLost))
        #expect(associated.handle(busy) == .failed(.accessPointFull))
    }

    @Test func ignoresWhatConcernsAnotherNetwork() {
        var progress = JoinProgress(network: 5)
        #expect(progress.handle(.temporarilyDisabled(network: 4, .wrongKey)) == nil)
        #expect(progress.handle(.connected(network: 4, Example.bssid)) == nil)
        // Results of a scan that began before the selection.
        #expect(progress.handle(.networkNotFound) == nil)
        #expect(progress.handle(.connected(network: 5, Example.bssid)) == .succeeded(Example.bssid))
    }

    @Test func anUnansweredProofOfThePasswordCountsAsAWrongOne() {
        var progress = JoinProgress(network: 0)
        _ = progress.handle(.authenticating)
        #expect(progress.silentFailure == .timeout)
        _ = progress.handle(.authenticating)
        #expect(progress.silentFailure == .wrongKey)
    }

    @Test func readsAnswers() throws {
        func answer(_ text: String, _ command: ControlCommand) throws(SupplicantError) -> ControlAnswer {
            try ControlAnswer(text.utf8, to: command)
        }
        #expect(try answer("OK\n", .attach) == .ok)
        #expect(try answer("12\n", .addNetwork) == .number(12))
        #expect(try answer("a=b\nc=d\n", .status) == .text("a=b\nc=d\n"))
        #expect(throws: SupplicantError.refused(command: "ATTACH", reply: "FAIL-BUSY")) {
            try answer("FAIL-BUSY\n", .attach)
        }
        #expect(throws: SupplicantError.refused(command: "STATUS", reply: "UNKNOWN COMMAND")) {
            try answer("UNKNOWN COMMAND\n", .status)
        }
        for (text, command) in [
            ("OK\n", ControlCommand.status), ("OK\n", .addNetwork), ("-1\n", .addNetwork), ("1 2\n", .addNetwork),
            ("99999999999999999999\n", .addNetwork), ("0\n", .attach), ("OK\nOK\n", .attach), ("", .attach),
        ] {
            #expect(throws: SupplicantError.malformedReply(command: command.name)) { try answer(text, command) }
        }
    }

    @Test func readsEscapedNames() throws {
        #expect(
            SSID.bytes(printedBySupplicant: "a\\\"b\\\\c\\e\\n\\r\\t\\x00\\xff") == Array("a\"b\\c\u{1b}\n\r\t".utf8)
                + [0, 0xff])
        #expect(SSID.bytes(printedBySupplicant: "\\") == [UInt8(ascii: "\\")])
        #expect(SSID.bytes(printedBySupplicant: "\\x") == [])
        #expect(SSID.bytes(printedBySupplicant: "\\xzz!") == Array("zz!".utf8))
    }

    @Test func makesNetworksOfRequests() throws {
        let everything: Set = ["NONE", "OWE", "WPA-PSK", "WPA-PSK-SHA256", "SAE"]
        func keyManagement(_ request: JoinRequest, _ available: Set<String>) throws -> NetworkBlock.Setting.Value? {
            try NetworkBlock(request, keyManagement: available).settings.first { $0.name == "key_mgmt" }?.value
        }
        let closed = try Example.request()
        let open = try Example.request([1], JoinRequest.Credential.none)
        #expect(try keyManagement(closed, everything) == .plain("WPA-PSK WPA-PSK-SHA256 SAE"))
        // As Debian's wpa_supplicant 2.10 lists them: without SHA-256, which it has.
        let listed: Set = ["NONE", "WPA-EAP", "WPA-PSK", "OWE", "FT-PSK", "SAE"]
        #expect(try keyManagement(closed, listed) == .plain("WPA-PSK WPA-PSK-SHA256 FT-PSK SAE FT-SAE"))
        #expect(try keyManagement(closed, ["NONE", "WPA-PSK"]) == .plain("WPA-PSK WPA-PSK-SHA256"))
        for offer in [Security.wpa3, .wpa2wpa3] {
            let offered = try Example.request(offer: offer)
            #expect(try keyManagement(offered, everything) == .plain("WPA-PSK WPA-PSK-SHA256 SAE"))
        }
        let old = try Example.request(offer: .wpa2)
        #expect(try keyManagement(old, everything) == .plain("WPA-PSK WPA-PSK-SHA256"))
        #expect(try !NetworkBlock(old, keyManagement: everything).settings.contains { $0.name == "sae_password" })
        #expect(try keyManagement(open, everything) == .plain("OWE"))
        #expect(try keyManagement(open, ["NONE", "WPA-PSK"]) == .plain("NONE"))
        #expect(throws: SupplicantError.self) { try keyManagement(closed, ["NONE"]) }
        #expect(throws: SupplicantError.self) { try keyManagement(open, []) }
        let badKey = try Example.request([1], .passphrase(Secret(text: "12345678"), psk: Secret([1, 2, 3])))
        #expect(throws: SupplicantError.self) { try keyManagement(badKey, everything) }
        // Without SAE, the passphrase itself stays here.
        #expect(
            try !NetworkBlock(closed, keyManagement: ["WPA-PSK"]).settings.contains { $0.name == "sae_password" })
    }

    /// Where wpa_supplicant sees no access point it asks for the strongest of what it is told, and one without that
    /// refuses: so it is told one of each.
    @Test func namesOneMethodForANetworkThatNoScanShows() throws {
        let methods: Set = ["NONE", "WPA-EAP", "WPA-PSK", "OWE", "FT-PSK", "SAE"]
        func settings(_ request: JoinRequest) throws -> [String?] {
            let block = try block(request, methods, ciphers: ["CCMP", "GCMP-256"])
            return ["key_mgmt", "pairwise", "group"].map { block[$0] }
        }
        for offer in [Security?.none, .wpa2, .wpa2wpa3] {
            #expect(try settings(Example.request(offer: offer, isUnseen: true)) == ["WPA-PSK", "CCMP", "CCMP"])
        }
        #expect(try settings(Example.request(offer: .wpa3, isUnseen: true)) == ["SAE", "CCMP", "CCMP"])
        #expect(try settings(Example.request(minimumSecurity: .sae, isUnseen: true)) == ["SAE", "CCMP", "CCMP"])
        func open(_ offer: Security?, _ minimumSecurity: LinkProtection = []) throws -> String? {
            try settings(
                Example.request(
                    [1], JoinRequest.Credential.none, offer: offer, minimumSecurity: minimumSecurity, isUnseen: true))[
                    0]
        }
        #expect(try open(.open) == "NONE")
        #expect(try open(.owe) == "OWE")
        #expect(try open(.open, .owe) == "OWE")
    }

    /// The settings of a network's block by their names; a secret is only said to be there.
    private func block(
        _ request: JoinRequest, _ available: Set<String> = ["NONE", "OWE", "WPA-PSK", "WPA-PSK-SHA256", "SAE"],
        ciphers: Set<String> = []
    ) throws -> [String: String] {
        let settings = try NetworkBlock(request, keyManagement: available, ciphers: ciphers).settings
        return Dictionary(
            uniqueKeysWithValues: settings.map { setting in
                if case .plain(let value) = setting.value { (setting.name, value) } else { (setting.name, "secret") }
            })
    }

    /// What cannot be joined, where that is why `body` fails.
    private func unsupported(_ body: () throws -> [String: String]) -> String? {
        do {
            _ = try body()
            return nil
        } catch SupplicantError.unsupported(let what) {
            return what
        } catch {
            return nil
        }
    }

    /// A key in place of the password is for WPA2, and SAE is not tried with its digits.
    @Test func aKeyIsNotTakenForAPassword() throws {
        let key = JoinRequest.Credential.passphrase(
            Secret(text: String(repeating: "ab", count: 32)), psk: Secret([UInt8](repeating: 0xab, count: 32)))
        for offer in [Security.wpa2, .wpa2wpa3, nil] {
            let settings = try block(Example.request([1], key, offer: offer))
            #expect(settings["key_mgmt"] == "WPA-PSK WPA-PSK-SHA256")
            #expect(settings["psk"] == "secret")
            #expect(settings["sae_password"] == nil)
        }
        let request = try Example.request([1], key, offer: .wpa3)
        #expect(unsupported { try block(request) }?.contains("a key") == true)
        // By the word of its owner, it is a password of WPA3 that happens to have such digits.
        let declared = try block(Example.request([1], key, offer: .wpa3, minimumSecurity: [.sae, .pmf]))
        #expect(declared["key_mgmt"] == "SAE")
        #expect(declared["psk"] == nil)
    }

    @Test func takesNeitherWPANorTKIP() throws {
        for request in [
            try Example.request(), try Example.request(offer: .wpa2),
            try Example.request(minimumSecurity: [.sae, .pmf]),
            try Example.request([1], JoinRequest.Credential.none),
        ] {
            let plain = try block(request)
            #expect(plain["proto"] == "RSN")
            #expect(plain["pairwise"] == "CCMP")
            #expect(plain["group"] == "CCMP")
            let able = try block(request, ciphers: ["CCMP-256", "GCMP-256", "CCMP", "GCMP", "TKIP", "NONE"])
            #expect(able["pairwise"] == "CCMP GCMP CCMP-256 GCMP-256")
            #expect(able["group"] == able["pairwise"])
        }
    }

    @Test(arguments: [Security.legacy, .wpa2, .wpa2wpa3, nil])
    func joinsTKIPOnlyWithPermissionAndWhereItIsOffered(_ offer: Security?) throws {
        let all: Set = ["CCMP", "GCMP", "TKIP", "NONE"]
        var request = try Example.request(offer: offer)
        #expect(try block(request, ciphers: all)["pairwise"] == "CCMP GCMP")
        request.allowsTKIP = true
        let allowed = try block(request, ciphers: all)
        let usesTKIP = offer == .legacy
        #expect(allowed["proto"] == (usesTKIP ? "RSN WPA" : "RSN"))
        #expect(allowed["pairwise"] == (usesTKIP ? "CCMP GCMP TKIP" : "CCMP GCMP"))
        #expect(allowed["group"] == allowed["pairwise"])
        #expect(allowed["sae_password"] == (offer == .legacy || offer == .wpa2 ? nil : "secret"))
        // A wpa_supplicant or a driver without TKIP refuses before the join.
        #expect((unsupported { try block(request) } != nil) == usesTKIP)
        var floor = try Example.request(offer: offer, minimumSecurity: [.sae, .pmf])
        floor.allowsTKIP = true
        #expect(try block(floor, ciphers: all)["pairwise"] == "CCMP GCMP")
    }

    /// For every offer of the access point: nothing is sent that a dictionary could be tried on.
    @Test(arguments: [Security.wpa2, .wpa2wpa3, .wpa3, nil])
    func whereSAEIsTheFloorThereIsNothingElse(_ offer: Security?) throws {
        let request = try Example.request(offer: offer, minimumSecurity: [.sae, .pmf])
        let settings = try block(request)
        #expect(settings["key_mgmt"] == "SAE")
        #expect(settings["ieee80211w"] == "2")
        #expect(settings["psk"] == nil)
        #expect(settings["sae_password"] == "secret")
        #expect(unsupported { try block(request, ["NONE", "WPA-PSK"]) }?.contains("WPA3") == true)
    }

    @Test func whereManagementFramesWereProtectedTheyMustBe() throws {
        let settings = try block(Example.request(offer: .wpa2, minimumSecurity: .pmf))
        #expect(settings["key_mgmt"] == "WPA-PSK WPA-PSK-SHA256")
        #expect(settings["ieee80211w"] == "2")
    }

    @Test func whereOWEIsTheFloorThereIsNothingElse() throws {
        let open = try Example.request([1], JoinRequest.Credential.none)
        #expect(try block(open)["owe_only"] == nil)
        let encrypted = try Example.request([1], JoinRequest.Credential.none, minimumSecurity: [.owe, .pmf])
        let settings = try block(encrypted)
        #expect(settings["key_mgmt"] == "OWE")
        #expect(settings["owe_only"] == "1")
        #expect(settings["ieee80211w"] == "2")
        #expect(unsupported { try block(encrypted, ["NONE", "WPA-PSK"]) }?.contains("OWE") == true)
    }

    @Test func readsWhatWasNegotiated() {
        func status(_ fields: String, state: String = "COMPLETED") -> SupplicantStatus {
            SupplicantStatus("wpa_state=\(state)\n" + fields.replacing(" ", with: "\n") + "\n")
        }
        for (fields, protection, security) in [
            ("key_mgmt=SAE pmf=2", [.sae, .pmf], .wpa3), ("key_mgmt=FT-SAE pmf=1", [.sae, .pmf], .wpa3),
            ("key_mgmt=SAE-EXT-KEY", .sae, .wpa3), ("key_mgmt=WPA2-PSK pmf=1", .pmf, .wpa2),
            ("key_mgmt=WPA2-PSK-SHA256", [], .wpa2), ("key_mgmt=OWE pmf=2", [.owe, .pmf], .owe),
            ("key_mgmt=NONE", [], .open), ("key_mgmt=WPA-PSK", [], .legacy), ("key_mgmt=WPA2/IEEE", [], nil),
            ("pmf=99999999999999999999", [], nil), ("pmf=-1 key_mgmt=WPA2-PSK", [], .wpa2), ("", [], nil),
        ] as [(String, LinkProtection, Security?)] {
            #expect(status(fields).protection == protection, "\(fields)")
            #expect(status(fields).security == security, "\(fields)")
            // An unfinished handshake proves nothing.
            #expect(status(fields, state: "4WAY_HANDSHAKE").protection == [])
        }
        #expect(status("pairwise_cipher=CCMP group_cipher=TKIP").usesTKIP)
        #expect(status("pairwise_cipher=TKIP group_cipher=TKIP").usesTKIP)
        #expect(!status("pairwise_cipher=CCMP group_cipher=CCMP").usesTKIP)
    }

    @Test func readsWhichWaysInAreClosed() {
        #expect(ControlEvent("TRANSITION-DISABLE 01") == .transitionDisabled(.personal))
        #expect(ControlEvent("TRANSITION-DISABLE 0f") == .transitionDisabled([.personal, .saePK, .enterprise, .open]))
        #expect(
            ControlEvent("WNM: Disassociation Imminent - Disassociation Timer 20")
                == .disassociationImminent(beacons: 20))
        let imminent = "WNM: Disassociation Imminent"
        for line in [
            "WNM:", imminent, "\(imminent) - Disassociation Timer 70000", "\(imminent) - Disassociation Timer -1",
        ] {
            #expect(ControlEvent(line[...]) == .other)
        }
        for line in ["TRANSITION-DISABLE", "TRANSITION-DISABLE ", "TRANSITION-DISABLE 100", "TRANSITION-DISABLE xy"] {
            #expect(ControlEvent(line[...]) == .other)
        }
        #expect(LinkProtection.sae.raised(by: .personal) == [.sae, .pmf])
        #expect(LinkProtection.sae.raised(by: .saePK) == [.sae, .pmf])
        #expect(LinkProtection.sae.raised(by: [.enterprise, .open]) == .sae)
        #expect(LinkProtection.owe.raised(by: .open) == .owe)
        #expect(LinkProtection.pmf.raised(by: .personal) == .pmf, "of WPA2 it is not believed")
    }

    @Test func keepsSecretsOutOfAllDescriptions() throws {
        let block = try NetworkBlock(Example.request(), keyManagement: ["WPA-PSK", "SAE"])
        let secrets = [Example.passphrase, Hex.string(Array(Example.passphrase.utf8)), Hex.string(0..<32)]
        for setting in block.settings {
            let command = ControlCommand(network: 0, setting)
            var shown = "\(setting)\(command)\(command.name)"
            dump(setting, to: &shown)
            dump(command, to: &shown)
            shown += "\(SupplicantError.refused(command: command.name, reply: "FAIL"))"
            for secret in secrets { #expect(!shown.contains(secret)) }
        }
    }

    @Test func everyErrorSaysWhatToDoAndHasAKind() {
        let errors: [SupplicantError] = [
            .unavailable, .system(SystemError("connect to /run/x", errno: 2)), .timedOut(command: "STATUS"),
            .refused(command: "STATUS", reply: "FAIL"), .malformedReply(command: "STATUS"), .unsupported("SAE"),
            .interfaceDown, .superseded,
        ]
        #expect(Set(errors.map(\.description)).count == errors.count)
        #expect(errors[1].description == "\(SystemError("connect to /run/x", errno: 2))")
        #expect(errors.map(\.joinFailure).filter { $0 == .supplicantUnavailable }.count == 4)
    }

    @Test func survivesAnyLine() {
        var generator = SeededRandom(seed: 2)
        let seeds =
            Fixture.all.flatMap(\.lines).map { Array("<3>\($0)".utf8) } + [
                Array("<3>CTRL-EVENT-SSID-TEMP-DISABLED id=99999999999999999999 ssid=\"\" reason=".utf8),
                Array("<3>CTRL-EVENT-DISCONNECTED reason=-1".utf8),
                Array("<3>CTRL-EVENT-CONNECTED - Connection to".utf8),
            ]
        var understood = 0
        for _ in 0..<50_000 {
            var bytes = seeds.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 0..<4, using: &generator) {
                let place = Int.random(in: 0..<max(bytes.count, 1), using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0 where !bytes.isEmpty: bytes[place] = .random(in: .min ... .max, using: &generator)
                case 1 where !bytes.isEmpty: bytes.remove(at: place)
                case 2: bytes.removeLast(bytes.count - place)
                default:
                    bytes.insert(contentsOf: (0..<8).map { _ in .random(in: 32...126, using: &generator) }, at: place)
                }
            }
            guard ControlEvent.isEvent(bytes), let text = ControlEvent.text(of: bytes[...]) else { continue }
            var progress = JoinProgress(network: 0)
            let event = ControlEvent(text)
            _ = progress.handle(event)
            if event != .other { understood += 1 }
            let printed = PrintableLine.of(text)
            #expect(printed.utf8.count <= PrintableLine.maximumLength)
            #expect(printed.utf8.allSatisfy { (0x20...0x7e).contains($0) })
        }
        #expect(understood > 1000)
    }

    @Test func survivesAnyStatus() {
        var generator = SeededRandom(seed: 3)
        let seed = Array(
            "bssid=02:00:00:00:01:00\nfreq=2412\nssid=A\\x00\\\"B\nid=0\nkey_mgmt=SAE\nwpa_state=COMPLETED\n".utf8)
        for _ in 0..<20_000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 0..<6, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                    in: .min ... .max, using: &generator)
            }
            let status = SupplicantStatus(String(decoding: bytes, as: UTF8.self))
            #expect((status.ssid?.bytes.count ?? 1) <= SSID.maximumLength)
        }
    }
}
