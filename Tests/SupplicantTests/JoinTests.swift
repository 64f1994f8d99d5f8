import AgentModel
import Linux
import TestTime
import Testing

@testable import Supplicant

private let connected = "CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:01:00 completed [id=0 id_str=]"

@Suite(.timeLimit(.minutes(10))) struct JoinTests {
    @Test @AgentLoop func takesOverAllDecisionsAtTheStart() async {
        let bench = Bench()
        await bench.start()
        #expect(
            bench.fake.asked == [
                "ATTACH", "STA_AUTOCONNECT 0", "SET sae_pwe 2", "AP_SCAN 1", "AUTOSCAN ",
                "GET_CAPABILITY key_mgmt",
                "GET_CAPABILITY pairwise", "STATUS", "DISCONNECT", "REMOVE_NETWORK all",
            ])
    }

    @Test @AgentLoop func leavesAnExistingLinkAlone() async throws {
        let bench = Bench()
        bench.fake.addNetwork(4)
        bench.fake.setStatus(
            """
            bssid=02:00:00:00:01:00
            freq=2412
            ssid=Caf\\xc3\\xa9 \\"1\\"
            id=4
            mode=station
            key_mgmt=WPA2-PSK
            wpa_state=COMPLETED

            """)
        await bench.start()
        let asked = bench.fake.asked
        #expect(!asked.contains { $0.hasPrefix("DISCONNECT") || $0.hasPrefix("REMOVE") || $0.hasPrefix("SELECT") })
        let status = try await bench.supplicant.status()
        #expect(status.state == .completed)
        #expect(status.networkID == 4)
        #expect(status.ssid == (try SSID("Café \"1\"")))
        #expect(status.bssid == Example.bssid)
        #expect(status.frequency == Frequency(megahertz: 2412))
        #expect(status.keyManagement == "WPA2-PSK")

        // And its end is reported, although no join of this process made it.
        bench.fake.send("CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=4 locally_generated=1")
        #expect(await bench.log.next() == .disconnected(reason: 4, locallyGenerated: true))
    }

    @Test @AgentLoop func joinsANetworkWithAPassword() async throws {
        let bench = Bench()
        await bench.start()
        let before = bench.fake.asked.count
        try await bench.supplicant.join(
            Example.request(bssid: Example.bssid, frequencies: [2412, 5180]), attempt: 7)
        let passphrase = Hex.string(Array(Example.passphrase.utf8))
        #expect(
            Array(bench.fake.asked[before...]) == [
                "BSSID_IGNORE clear", "ADD_NETWORK", "SET_NETWORK 0 ssid 486f6d65", "SET_NETWORK 0 bgscan \"\"",
                "SET_NETWORK 0 bssid 02:00:00:00:01:00", "SET_NETWORK 0 scan_freq 2412 5180",
                "SET_NETWORK 0 key_mgmt WPA-PSK WPA-PSK-SHA256 SAE", "SET_NETWORK 0 ieee80211w 1",
                "SET_NETWORK 0 proto RSN", "SET_NETWORK 0 pairwise CCMP GCMP-256",
                "SET_NETWORK 0 group CCMP GCMP-256",
                "SET_NETWORK 0 psk 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
                "SET_NETWORK 0 sae_password \(passphrase)", "STATUS", "SELECT_NETWORK 0",
            ])
        bench.fake.send("Associated with 02:00:00:00:01:00", connected)
        #expect(await bench.log.next() == .connected(attempt: 7, bssid: Example.bssid))
    }

    /// The driver looks for the network by itself, and wpa_supplicant scans again for the next one.
    @Test @AgentLoop func joinsWithoutAScanWhereTheRadioDoesNone() async throws {
        let bench = Bench()
        await bench.start()
        let before = bench.fake.asked.count
        try await bench.supplicant.join(Example.request(isUnseen: true), attempt: 1)
        try await bench.supplicant.join(Example.request(isUnseen: true), attempt: 2)
        try await bench.supplicant.join(Example.request(), attempt: 3)
        try await bench.supplicant.join(Example.request(), attempt: 4)
        let words = ["AP_SCAN", "SELECT", "DISCONNECT", "REMOVE_NETWORK all"]
        let asked = bench.fake.asked[before...].filter { line in words.contains { line.hasPrefix($0) } }
        #expect(
            asked == [
                "AP_SCAN 2", "SELECT_NETWORK 0", "DISCONNECT", "REMOVE_NETWORK all", "SELECT_NETWORK 1", "AP_SCAN 1",
                "SELECT_NETWORK 2",
                "SELECT_NETWORK 3",
            ])
    }

    // covers: seed/hidden-networks
    @Test @AgentLoop func joinsAHiddenOpenNetwork() async throws {
        let bench = Bench()
        await bench.start()
        try await bench.supplicant.join(
            Example.request([UInt8](repeating: 0xff, count: 32), JoinRequest.Credential.none, isHidden: true),
            attempt: 1)
        #expect(
            bench.fake.network(0) == [
                "ssid": String(repeating: "ff", count: 32), "bgscan": "\"\"", "scan_ssid": "1", "key_mgmt": "OWE",
                "ieee80211w": "1", "proto": "RSN", "pairwise": "CCMP GCMP-256", "group": "CCMP GCMP-256",
            ])
    }

    /// The handshake says so before or after the link is up.
    @Test @AgentLoop func tellsWhichWaysInAreClosed() async throws {
        let bench = Bench()
        await bench.start()
        bench.fake.send(["TRANSITION-DISABLE 01", connected], after: "SELECT_NETWORK")
        try await bench.supplicant.join(Example.request(), attempt: 9)
        #expect(await bench.log.next() == .transitionDisabled(.personal))
        #expect(await bench.log.next() == .connected(attempt: 9, bssid: Example.bssid))
        bench.fake.send("TRANSITION-DISABLE 0a")
        #expect(await bench.log.next() == .transitionDisabled([.saePK, .open]))
    }

    @Test @AgentLoop func forgetsTheOldNetworkWhenTheNewOneHasSettled() async throws {
        let bench = Bench()
        await bench.start()
        bench.fake.send([connected], after: "SELECT_NETWORK 0")
        try await bench.supplicant.join(Example.request(), attempt: 1)
        #expect(await bench.log.next() == .connected(attempt: 1, bssid: Example.bssid))

        // wpa_supplicant ends the old link before it answers, and that is not the failure of the new one.
        bench.fake.send(
            ["CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=3 locally_generated=1"], after: "SELECT_NETWORK 1",
            first: true)
        bench.fake.send(
            ["CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:02:00 completed [id=1 id_str=]"],
            after: "SELECT_NETWORK 1")
        try await bench.supplicant.join(Example.request(Array("Backup".utf8)), attempt: 2)
        #expect(await bench.log.next() == .disconnected(reason: 3, locallyGenerated: true))
        #expect(await bench.log.next() == .connected(attempt: 2, bssid: try #require(BSSID("02:00:00:00:02:00"))))
        #expect(await bench.fake.reaches { $0.networks == [1] })
        #expect(!bench.fake.asked.contains { $0.hasPrefix("SAVE_CONFIG") })
    }

    @Test @AgentLoop func givesExactlyOneOutcomeAndForgetsTheNetworkBeforeIt() async throws {
        let bench = Bench()
        await bench.start()
        bench.fake.send(
            [
                "SME: Trying to authenticate with 02:00:00:00:01:00 (SSID='Home' freq=2412 MHz)",
                "CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=0 auth_transaction=2 status_code=17",
                connected, "CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=2",
                "CTRL-EVENT-ASSOC-REJECT status_code=1", "CTRL-EVENT-NETWORK-NOT-FOUND ", connected,
            ], after: "SELECT_NETWORK")
        try await bench.supplicant.join(Example.request(), attempt: 3)
        let outcome = await bench.log.next()
        #expect(
            outcome
                == .joinFailed(
                    attempt: 3, .accessPointFull,
                    detail: "CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=0 auth_transaction=2 status_code=17"))
        #expect(bench.fake.knownNetworks.isEmpty)
        #expect(bench.fake.asked.suffix(2) == ["DISCONNECT", "REMOVE_NETWORK all"])
        // The answer to one more command shows that nothing else came of those events.
        _ = try await bench.supplicant.status()
        #expect(bench.log.all.count == 2)
    }

    @Test @AgentLoop func takesTheCauseFromTheLineThatFollowsTheEnd() async throws {
        let bench = Bench()
        await bench.start()
        bench.fake.send(Fixture.wrongPassphrase.lines.map { $0.replacing("id=2", "id=0") }, after: "SELECT_NETWORK")
        try await bench.supplicant.join(Example.request(), attempt: 4)
        guard case .joinFailed(4, .wrongKey, let detail) = await bench.log.next() else {
            Issue.record("not a wrong key: \(bench.log.all)")
            return
        }
        #expect(detail.hasPrefix("CTRL-EVENT-SSID-TEMP-DISABLED"))
    }

    @Test @AgentLoop func endsAJoinOfWhichNothingIsHeard() async throws {
        let bench = Bench()
        try await ManualClock().run { clock in
            await bench.start()
            for (state, failure) in [
                ("SCANNING", JoinFailure.notFound), ("ASSOCIATING", .timeout), ("4WAY_HANDSHAKE", .timeout),
            ] {
                bench.fake.setStatus("wpa_state=\(state)\n")
                try await bench.supplicant.join(Example.request(), attempt: 5)
                clock.advance(by: Bench.patient.joinLimit)
                guard case .joinFailed(5, failure, _) = await bench.log.next() else {
                    Issue.record("\(state): \(bench.log.all)")
                    return
                }
            }
        }
    }

    @Test(arguments: [(Duration.seconds(20), Duration.seconds(3600)), (.seconds(3600), .seconds(20))])
    @AgentLoop func findsALinkWhoseEventWasLost(_ joinLimit: Duration, _ supervision: Duration) async throws {
        var timing = Bench.patient
        timing.joinLimit = joinLimit
        timing.closeSupervision = supervision
        let bench = Bench(timing: timing)
        try await ManualClock(start: Instant(milliseconds: 0)).run { clock in
            await bench.start()
            bench.fake.misbehave(at: "SELECT_NETWORK", .late)
            let join = Task { try await bench.supplicant.join(Example.request(), attempt: 6) }
            #expect(await bench.fake.reaches { $0.asked.last == "SELECT_NETWORK 0" })
            bench.fake.setStatus("wpa_state=COMPLETED\nid=0\nbssid=02:00:00:00:01:00\n")
            bench.fake.answerLate()
            try await join.value
            clock.advance(by: min(joinLimit, supervision))
            #expect(await bench.log.next() == .connected(attempt: 6, bssid: Example.bssid))
        }
    }

    @Test @AgentLoop func findsOutThatAnAuthenticationEndedInSilence() async throws {
        let bench = Bench()
        await bench.start()
        bench.fake.setStatus("wpa_state=AUTHENTICATING\n")
        let authenticating = "SME: Trying to authenticate with 02:00:00:00:01:00 (SSID='Home' freq=2412 MHz)"
        // Another program's scan ends nothing, wpa_supplicant's own does.
        bench.fake.send([authenticating, "CTRL-EVENT-SCAN-STARTED "], after: "SELECT_NETWORK")
        try await bench.supplicant.join(Example.request(), attempt: 8)
        #expect(await bench.fake.reaches { $0.asked.last == "STATUS" })
        _ = try await bench.supplicant.status()
        #expect(bench.log.all == [.available])
        bench.fake.setStatus("wpa_state=SCANNING\n")
        bench.fake.send("CTRL-EVENT-SCAN-STARTED ")
        let event = await bench.log.next()
        guard case .joinFailed(attempt: 8, .timeout, let detail)? = event else {
            Issue.record("\(String(describing: event))")
            return
        }
        #expect(detail.contains("not answer"))
    }

    @Test @AgentLoop func aLaterRequestReplacesAJoin() async throws {
        let bench = Bench()
        await bench.start()
        try await bench.supplicant.join(Example.request(), attempt: 1)
        bench.fake.send([connected.replacing("id=0", "id=1")], after: "SELECT_NETWORK 1")
        try await bench.supplicant.join(Example.request(), attempt: 2)
        #expect(await bench.log.next() == .connected(attempt: 2, bssid: Example.bssid))
        #expect(await bench.fake.reaches { $0.networks == [1] })

        bench.fake.misbehave(at: "SELECT_NETWORK 2", .late)
        async let third: Void = bench.supplicant.join(Example.request(), attempt: 3)
        #expect(await bench.fake.reaches { $0.asked.last == "SELECT_NETWORK 2" })
        async let leaving: Void = bench.supplicant.leave()
        // Then it waits for the join's commands.
        try await eventually("the leave has begun") { bench.supplicant.attempt == nil }
        bench.fake.answerLate()
        _ = try? await third
        try await leaving
        #expect(bench.fake.knownNetworks.isEmpty)
        #expect(bench.log.all.count == 2)
    }

    /// As brcmfmac has it from Linux 6.18 on: SAE is named where the access point offers nothing less, or where the network's floor
    /// has it.
    @Test(
        arguments: [
            (nil, [], "WPA-PSK SAE"), (.wpa3, [], "WPA-PSK SAE"), (.wpa2wpa3, [], "WPA-PSK"),
            (.wpa2wpa3, [.sae, .pmf], "SAE"),
        ] as [(Security?, LinkProtection, String)])
    @AgentLoop func saeForFirmware(offer: Security?, minimumSecurity: LinkProtection, keyManagement: String)
        async throws
    {
        let bench = Bench()
        bench.fake.misbehave(at: "GET_CAPABILITY key_mgmt", .instead(Array("NONE WPA-PSK WPA-EAP\n".utf8)))
        bench.fake.misbehave(at: "GET_CAPABILITY auth_alg", .instead(Array("OPEN SHARED LEAP SAE\n".utf8)))
        await bench.start()
        try await bench.supplicant.join(Example.request(offer: offer, minimumSecurity: minimumSecurity), attempt: 1)
        let named = bench.fake.asked.first { $0.hasPrefix("SET_NETWORK 0 key_mgmt") }
        #expect(named?.replacing(" WPA-PSK-SHA256", with: "") == "SET_NETWORK 0 key_mgmt \(keyManagement)")
    }

    @Test @AgentLoop func refusesWhatCannotWork() async throws {
        let bench = Bench()
        await #expect(throws: SupplicantError.unavailable) {
            try await bench.supplicant.join(Example.request(), attempt: 1)
        }
        bench.fake.misbehave(at: "GET_CAPABILITY", .instead(Array("NONE IEEE8021X\n".utf8)))
        await bench.start()
        let error = await #expect(throws: SupplicantError.self) {
            try await bench.supplicant.join(Example.request(), attempt: 1)
        }
        guard case .unsupported(let what)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(what.contains("password"))
        bench.fake.setStatus("wpa_state=INTERFACE_DISABLED\n")
        await #expect(throws: SupplicantError.interfaceDown) {
            try await bench.supplicant.join(Example.request([1], JoinRequest.Credential.none), attempt: 2)
        }
        bench.fake.misbehave(at: "SET_NETWORK", .instead(Array("FAIL\n".utf8)))
        await #expect(throws: SupplicantError.refused(command: "SET_NETWORK ssid", reply: "FAIL")) {
            try await bench.supplicant.join(Example.request([1], JoinRequest.Credential.none), attempt: 3)
        }
        #expect(bench.fake.knownNetworks.isEmpty)
        #expect(bench.log.all == [.available])
    }

    @Test @AgentLoop func stoppingLeavesTheLink() async throws {
        let bench = Bench()
        bench.fake.setStatus("wpa_state=COMPLETED\nid=0\nbssid=02:00:00:00:01:00\n")
        await bench.start()
        let before = bench.fake.asked.count
        bench.supplicant.stop()
        await #expect(throws: SupplicantError.unavailable) { try await bench.supplicant.status() }
        #expect(bench.fake.asked.count == before)
        await bench.start()
    }
}

extension String {
    fileprivate func replacing(_ part: String, _ other: String) -> String {
        split(separator: part, omittingEmptySubsequences: false).joined(separator: other)
    }
}

private let first = "02:00:00:00:01:00"
private let second = "02:00:00:00:01:01"

private func connected(_ bssid: String, network: Int) -> String {
    "CTRL-EVENT-CONNECTED - Connection to \(bssid) completed [id=\(network) id_str=]"
}

/// From one access point of a network to another.
@Suite(.timeLimit(.minutes(10))) struct RoamTests {
    /// A bench on which the network is joined at the first access point.
    @AgentLoop private func joined() async throws -> Bench {
        let bench = Bench()
        await bench.start()
        bench.fake.send([connected(first, network: 0)], after: "SELECT_NETWORK 0")
        try await bench.supplicant.join(Example.request(bssid: BSSID(first)), attempt: 1)
        #expect(await bench.log.next() == .connected(attempt: 1, bssid: try #require(BSSID(first))))
        return bench
    }

    /// wpa_supplicant stays where it is if it is told to select the network that it has selected: it needs to be
    /// another.
    @Test @AgentLoop func movesToTheOtherAccessPoint() async throws {
        let bench = try await joined()
        bench.fake.send([connected(second, network: 1)], after: "SELECT_NETWORK 1")
        try await bench.supplicant.join(Example.request(bssid: BSSID(second), frequencies: [2437]), attempt: 2)
        #expect(await bench.log.next() == .disconnected(reason: 0, locallyGenerated: true))
        #expect(await bench.log.next() == .connected(attempt: 2, bssid: try #require(BSSID(second))))
        #expect(bench.fake.network(1)?["bssid"] == second)
        #expect(await bench.fake.reaches { $0.networks == [1] })
    }

    /// The old network's last events are not the outcome of the new one.
    @Test @AgentLoop func theOldLinksEventsAreNotTheNewOnes() async throws {
        let bench = try await joined()
        try await bench.supplicant.join(Example.request(bssid: BSSID(second)), attempt: 2)
        #expect(await bench.log.next() == .disconnected(reason: 0, locallyGenerated: true))
        bench.fake.send(connected(first, network: 0), "CTRL-EVENT-ASSOC-REJECT bssid=\(second) status_code=17")
        guard case .joinFailed(2, .accessPointFull, _) = await bench.log.next() else {
            Issue.record("not a failure: \(bench.log.all)")
            return
        }
        #expect(bench.fake.knownNetworks.isEmpty)
    }
}
