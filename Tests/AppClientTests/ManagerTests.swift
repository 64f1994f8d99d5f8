import AgentModel
import AppClient
import AppProtocol
import AppServer
import Synchronization
import TestTime
import Testing

/// Each call of the manager against a server in the network.
// covers: seed/user-app-developer
@Suite(.timeLimit(.minutes(10))) struct ManagerTests {
    // covers: seed/backups-supported
    @Test func askedWhatItCan() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            #expect(try await manager.supportWifiBackupNetwork())
            fixture.board.set {
                $0.capabilities = Capabilities(
                    attributes: [], maxBackupNetworks: 3, deviceId: "board-1", firmware: "1", features: [])
            }
            #expect(try await !manager.supportWifiBackupNetwork())
            #expect(fixture.relay.accepted == 1)
        }
        let future = Capabilities(maxBackupNetworks: 3, versions: [2], deviceId: "b", firmware: "1", features: [])
        #expect(!DeviceNetworkManager.supportWifiBackupNetwork(future))
    }

    // covers: seed/current-network, seed/current-ssid
    @Test(arguments: [
        (Uplink.wifi, NetworkInfo.NetworkType.wifi, true, true), (.wired, .wired, false, false),
        (.cellular, .cellular, false, true), (.other, nil, false, false), (nil, nil, false, false),
    ])
    func currentNetwork(
        uplink: Uplink?, type: NetworkInfo.NetworkType?, hasSSID: Bool, hasSignal: Bool
    ) async throws {
        let ssid = try SSID("Home")
        let hash = NetworkHash(localKey: Fixture.device.localKey, ssid: ssid, password: nil)
        let flags = NetworkFlags.allowed(uplink: uplink, radioPresent: true, switchInProgress: false)
        try await Fixture.with { fixture async throws in
            fixture.board.set {
                $0.network = NetworkStatus(
                    state: .online, uplink: uplink, flags: flags, ssid: ssid, signal: -61, hash: hash,
                    since: Timestamp(millisecondsSince1970: 0))
            }
            let manager = fixture.manager()
            let info = try await manager.getCurrentNetworkInfo()
            #expect(info.network == type)
            #expect(info.ssid == (hasSSID ? ssid : nil))
            #expect(info.ssidHash == (hasSSID ? hash : nil))
            #expect(info.signal == (hasSignal ? -61 : nil))
            #expect(info.version == 1)
            #expect(manager.canUpdateWifiBackupNetwork(info))
            #expect(manager.canSwitchWifiNetwork(info) == (uplink == .wifi || uplink == nil))
        }
    }

    /// The signal is the modem's where a modem carries the traffic, and quality is ModemManager's.
    // covers: seed/current-network, seed/under-tunnel
    @Test(arguments: [nil, Uplink.cellular]) func theModemOfTheUplink(carrier: Uplink?) async throws {
        let modem = ModemStatus(
            interface: "wwan0", state: .connected, quality: 72, rssi: -67, rsrp: -95, technology: .fourth,
            operator: "Example")
        try await Fixture.with { fixture async throws in
            fixture.board.set {
                $0.network = NetworkStatus(
                    state: .offline, uplink: carrier == nil ? .cellular : .other, carrier: carrier,
                    flags: .canUpdateBackups, signal: modem.signal, since: Timestamp(millisecondsSince1970: 0),
                    modem: modem)
            }
            let info = try await fixture.manager().getCurrentNetworkInfo()
            #expect(info.network == .cellular && info.ssid == nil)
            #expect(info.signal == -67 && info.quality == 72 && info.modem == modem)
        }
    }

    @Test func howFarTheNetworkLeads() async throws {
        let connectivity = Connectivity(
            level: .lan, required: .internet, internet: .no, problem: .nameServerSilent, reachability: .reachable)
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            #expect(try await manager.getCurrentNetworkInfo().connectivity == nil)
            fixture.board.set { $0.network.connectivity = connectivity }
            #expect(try await manager.getCurrentNetworkInfo().connectivity == connectivity)
            #expect(try await manager.diagnose() == Board.diagnosis)
            #expect(try await manager.portal() == PortalStatus())
            await #expect {
                try await manager.answerPortal(PortalAnswer(id: 1, values: nil))
            } throws: { error in
                guard case .refused(let refusal)? = error as? ClientError else { return false }
                return refusal.code == .unknownPortal
            }
            #expect(fixture.board.asked.last == .answerPortal(PortalAnswer(id: 1, values: nil)))
        }
    }

    /// A diagnosis takes its time, and the rest of the app goes on.
    @Test func aDiagnosisHoldsUpNothingElse() async throws {
        let gate = Gate()
        let board = Board(Fixture.device) { request in
            if request == .getDiagnosis { await gate.pass() }
        }
        try await Fixture.with(board) { fixture async throws in
            let manager = fixture.manager()
            async let diagnosis = manager.diagnose()
            try await board.isAsked(.getDiagnosis, times: 1)
            _ = try await manager.getBackupWifiNetworks()
            gate.open()
            #expect(try await diagnosis == Board.diagnosis)
            #expect(board.count(.getDiagnosis) == 1)
            #expect(fixture.relay.accepted == 2)
        }
    }

    /// Computed with `printf 0123456789abcdefHomepassword | openssl sha256 -binary | base64`.
    // covers: seed/backup-model
    @Test func aModelHasTheHashThatTheDeviceComputes() throws {
        let manager = DeviceNetworkManager(device: Fixture.device, host: "::1")
        let model = try manager.generateBackupWifiModel(ssid: "Home", pwd: "password")
        #expect(model.hash.base64 == "i5O/knx9gJFrrA2sM72z8g5CddaNWgEc6UfEclxjq20=")
        #expect(model.ssid.text == "Home")
        let open = try manager.generateBackupWifiModel(ssid: "Home", pwd: "")
        #expect(open.hash == NetworkHash(localKey: Fixture.device.localKey, ssid: open.ssid, password: nil))
        #expect(open != model)
    }

    @Test(arguments: [
        ("", "password", ErrorCode.invalidSsid), (String(repeating: "x", count: 33), "password", .invalidSsid),
        ("Home", "short", .invalidPassword), ("Home", "pässword1", .invalidPassword),
        ("Home", String(repeating: "x", count: 64), .invalidPassword),
    ])
    func anImpossibleModelIsRefusedAtOnce(ssid: String, pwd: String, code: ErrorCode) throws {
        let manager = DeviceNetworkManager(device: Fixture.device, host: "::1")
        let error = #expect(throws: ClientError.self) { try manager.generateBackupWifiModel(ssid: ssid, pwd: pwd) }
        #expect(error?.code == code)
        #expect(!"\(String(describing: error))".contains(pwd))
    }

    // covers: seed/backups-list
    @Test func theListIsReplacedAsAWhole() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            let (home, attic) = (
                try manager.generateBackupWifiModel(ssid: "Home", pwd: "correct horse"),
                try manager.generateBackupWifiModel(ssid: "Attic", pwd: "", hidden: true)
            )
            let stored = try await manager.updateBackupWifiNetworks([home, attic])
            #expect(stored.networks == [home, attic])
            #expect(stored.max == 3)
            #expect(
                fixture.board.list == [
                    .init(ssid: home.ssid, hash: home.hash, password: Secret(text: "correct horse"), isHidden: false),
                    .init(ssid: attic.ssid, hash: attic.hash, password: nil, isHidden: true),
                ])

            // An entry of the device's list goes back without its password, and keeps it.
            let listed = try await manager.getBackupWifiNetworks()
            #expect(listed == stored)
            try await manager.updateBackupWifiNetworks([listed.networks[0]], ifRevision: listed.revision)
            #expect(fixture.board.list.map(\.password) == [Secret(text: "correct horse")])

            let conflict = await #expect(throws: ClientError.self) {
                try await manager.updateBackupWifiNetworks([], ifRevision: listed.revision)
            }
            #expect(conflict?.code == .revisionConflict)
            let models = try (1...4).map { try manager.generateBackupWifiModel(ssid: "\($0)", pwd: "") }
            let full = await #expect(throws: ClientError.self) { try await manager.updateBackupWifiNetworks(models) }
            #expect(full?.code == .tooManyNetworks)
            #expect(fixture.board.list.count == 1)
        }
    }

    /// Sealing a password leaves the address as it is, and an entry that says nothing of it keeps it.
    @Test func aNetworkHasAnAddress() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            let address = try StaticAddress("192.168.1.20/24", gateway: IPAddress("192.168.1.1"))
            let home = try manager.generateBackupWifiModel(ssid: "Home", pwd: "correct horse", address: address)
            try await manager.updateBackupWifiNetworks([home])
            #expect(fixture.board.list.map(\.address) == [address])
            let listed = try await manager.getBackupWifiNetworks()
            #expect(listed.networks.map(\.address) == [address])
            try await manager.updateBackupWifiNetworks(listed.networks)
            #expect(fixture.board.list.map(\.address) == [address])
            let other = try StaticAddress("10.1.2.3/16")
            try await manager.updateBackupWifiNetworks([listed.networks[0].with(.fixed(other))])
            #expect(fixture.board.list.map(\.address) == [other])
            try await manager.updateBackupWifiNetworks([listed.networks[0].with(.dhcp)])
            #expect(fixture.board.list.map(\.address) == [nil])
            #expect(fixture.board.list.map(\.password) == [Secret(text: "correct horse")])
        }
    }

    @Test func laterChangesOfOptionsKeepEarlierOnes() async throws {
        let bssid = try #require(BSSID("02:00:00:00:01:00"))
        let ipv6 = try StaticAddress("2001:db8::20/64", gateway: IPAddress("fe80::1"))
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            let home = try manager.generateBackupWifiModel(ssid: "Home", pwd: "correct horse")
                .with(.init(band: .to(.five)))
            try await manager.updateBackupWifiNetworks([home])
            #expect(fixture.board.list.map(\.options) == [NetworkOptions(band: .five)])
            let listed = try await manager.getBackupWifiNetworks()
            let changed = listed.networks[0].with(.init(band: .unset, bssid: .to(bssid)))
                .with(.init(isMetered: .to(true))).with(.init(ipv6: .to(ipv6)))
            try await manager.updateBackupWifiNetworks([changed])
            let all = NetworkOptions(isMetered: true, bssid: bssid, ipv6: ipv6)
            #expect(changed.options == all)
            #expect(fixture.board.list.map(\.options) == [all])
        }
    }

    /// Sealed, and sent once more where the answer was lost: by its name it is the same change.
    @Test func aNewerPasswordIsStagedAndTakenBack() async throws {
        let ssid = try SSID("Home")
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            let older = await #expect(throws: ClientError.self) {
                try await manager.stagePassword(Secret(text: "newer password"), of: ssid, changeId: "2026-12")
            }
            #expect(older?.code == .unsupported && fixture.board.count(.stagePassword) == 0)
            fixture.board.set {
                $0.capabilities = Capabilities(
                    maxBackupNetworks: 3, deviceId: "board-1", firmware: "1", features: ["stage"])
            }
            let impossible = await #expect(throws: ClientError.self) {
                try await manager.stagePassword(Secret(text: ""), of: ssid, changeId: "2026-12")
            }
            #expect(impossible?.code == .invalidPassword && fixture.board.count(.stagePassword) == 0)

            let list = try await manager.stagePassword(
                Secret(text: "newer password"), of: ssid, changeId: "2026-12", keepFor: 600)
            #expect(list.staged.map(\.changeId) == ["2026-12"] && list.staged.map(\.phase) == [.staged])
            let sent = fixture.board.asked.compactMap { request -> PasswordStaging? in
                if case .stagePassword(let staging) = request { staging } else { nil }
            }
            #expect(sent.map(\.keepFor) == [600])
            guard case .sealed? = sent.first?.network.credential else {
                Issue.record("\(sent)")
                return
            }
            fixture.board.set { #expect($0.stagedPasswords == ["2026-12": Secret(text: "newer password")]) }
            #expect(try await manager.dropPassword("2026-12").staged.map(\.phase) == [.dropped])
            let unknown = await #expect(throws: ClientError.self) { try await manager.dropPassword("2027-01") }
            #expect(unknown?.code == .unknownNetwork)
            // Only WPA3 allows it.
            _ = try await manager.stagePassword(Secret(text: "käse"), of: ssid, changeId: "wpa3")
            fixture.board.set { #expect($0.stagedPasswords["wpa3"] == Secret(text: "käse")) }
        }
    }

    @Test func aStagedPasswordWhoseAnswerIsLostIsSentOnceMore() async throws {
        let ssid = try SSID("Home")
        let relay = Mutex<Relay?>(nil)
        let board = Board(Fixture.device) { request in
            guard request.type == .stagePassword, let cut = relay.withLock({ $0.take() }) else { return }
            await cut.cut()
        }
        try await Fixture.with(board) { fixture async throws in
            relay.withLock { $0 = fixture.relay }
            board.set {
                $0.capabilities = Capabilities(
                    maxBackupNetworks: 3, deviceId: "board-1", firmware: "1", features: ["stage"])
            }
            let list = try await fixture.manager().stagePassword(
                Secret(text: "newer password"), of: ssid, changeId: "2026-12")
            #expect(list.staged.map(\.phase) == [.staged] && board.count(.stagePassword) == 2)
            let names = board.asked.compactMap { request -> String? in
                if case .stagePassword(let staging) = request { staging.changeId } else { nil }
            }
            #expect(names == ["2026-12", "2026-12"])
        }
    }

    /// Over the network a password never goes as it is; on the device's own socket it does.
    @Test func passwordsAreSealedInTheNetworkOnly() async throws {
        try await Fixture.with { fixture async throws in
            let model = try fixture.manager().generateBackupWifiModel(ssid: "Home", pwd: "correct horse")
            try await fixture.manager().updateBackupWifiNetworks([model])
            let local = DeviceNetworkManager(device: Fixture.device) { [.unixSocket(path: fixture.socket)] }
            try await local.updateBackupWifiNetworks([model])
            var credentials: [NetworkCredential] = []
            for case .updateBackups(let update) in fixture.board.asked {
                for case .new(let network) in update.networks { credentials.append(network.credential) }
            }
            guard credentials.count == 2, case .sealed = credentials[0] else {
                Issue.record("\(credentials)")
                return
            }
            #expect(credentials[1] == .password(Secret(text: "correct horse")))
            #expect(fixture.board.count(.agreeKey) == 1)
        }
    }

    @Test(arguments: [ErrorCode.keyRotated, .sealUsed])
    func aSealThatCameTooLateIsMadeOnceMore(code: ErrorCode) async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            let model = try manager.generateBackupWifiModel(ssid: "Home", pwd: "correct horse")
            fixture.board.set { $0.refusals = [.updateBackups: [code], .switchNetwork: [code]] }
            try await manager.updateBackupWifiNetworks([model])
            #expect(fixture.board.count(.agreeKey) == 2)
            async let switched = manager.switchBackupWifiNetwork(ssid: "Home", pwd: "correct horse")
            try await fixture.board.isAsked(.switchNetwork, times: 2)
            fixture.board.advance(to: .committed)
            let phase = try await switched.phase
            #expect(phase == .committed)
            #expect(fixture.board.count(.agreeKey) == 4)

            fixture.board.set { $0.refusals = [.updateBackups: [code, code]] }
            let error = await #expect(throws: ClientError.self) {
                try await manager.updateBackupWifiNetworks([model])
            }
            #expect(error?.code == code)
        }
    }

    @Test func scanAndHistory() async throws {
        let hub = EventHub()
        let board = Board(Fixture.device, hub: hub) { request in
            guard request.type == .startScan else { return }
            hub.publish(.scanFinished(ScanFinished(scanId: 7, outcome: .finished, networks: 0)))
        }
        try await Fixture.with(board) { fixture async throws in
            let manager = fixture.manager()
            let request = ScanRequest(ssids: [try SSID("Attic")])
            #expect(try await manager.scan(request).lastScanId == 7)
            #expect(try await manager.history(limit: 5).decisions.isEmpty)
            #expect(fixture.board.asked.contains(.startScan(request)))
            #expect(fixture.board.asked.contains(.getHistory(HistoryQuery(limit: 5))))
        }
    }

    // covers: seed/backups-list
    @Test func nothingThatIsSaidHasAPasswordInIt() throws {
        let manager = DeviceNetworkManager(device: Fixture.device, host: "::1")
        let model = try manager.generateBackupWifiModel(ssid: "Home", pwd: "correct horse")
        for value in [model, manager.device, manager] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("correct horse"))
                #expect(!text.contains("0123456789abcdef"))
            }
        }
    }
}

extension ClientError {
    /// The device's own error code, if it was the device that refused.
    var code: ErrorCode? { if case .refused(let error) = self { error.code } else { nil } }
}
