import AgentModel
import AppProtocol
import Failover
import KeyFile
import Testing

@testable import Agent
@testable import AgentCore

private let localKey = Secret(text: "0123456789abcdef")

private var seals: SealOpener {
    get throws { SealOpener(try DeviceKey(deviceId: "device", localKey: localKey)) }
}

private func network(_ name: String, _ password: String? = nil) throws -> StoredNetwork {
    try StoredNetwork(DecryptedNetwork(ssid: SSID(name), password: password.map(Secret.init(text:))))
}

private func reference(_ name: String, _ password: String) throws -> NetworkReference {
    .new(NewNetwork(ssid: try SSID(name), password: Secret(text: password)))
}

/// The device's own address in a network, which belongs to the network wherever it is stored.
@Suite struct StaticAddressTests {
    private let address: StaticAddress
    private let other: StaticAddress

    init() throws {
        address = try StaticAddress("192.168.1.20/24", gateway: IPAddress("192.168.1.1"))
        other = try StaticAddress("192.168.1.30/24")
    }

    private func apply(_ update: BackupsUpdate, to state: inout StoredState) throws {
        try state.apply(PreparedUpdate(update, maximum: 3, seals: seals), localKey: localKey)
    }

    private func addresses(_ state: StoredState) -> [StaticAddress?] {
        [state.home, state.chosen, state.current, state.previous, state.pendingSwitch?.target].compactMap(\.self)
            .map(\.staticAddress) + state.backups.map(\.staticAddress)
    }

    @Test func aHashSetsItKeepsItAndTakesItBackInEveryCopy() throws {
        let home = try network("Home", "home-password")
        let hash = home.hash(localKey: localKey)
        var state = StoredState(
            home: home, chosen: home, current: home, previous: home, backups: [home], backupsRevision: 1,
            pendingSwitch: PendingSwitch(id: "s", target: home, cameFrom: nil),
            statistics: [home.ssid: NetworkStatistics(lastFailure: .noAddress)])
        try apply(BackupsUpdate(networks: [.stored(hash)], addressing: [hash: .fixed(address)]), to: &state)
        #expect(addresses(state) == Array(repeating: address, count: 6))
        #expect(state.backupsRevision == 2)
        #expect(state.home?.isSame(as: home) == true, "it is the same network as without")
        let before = state
        try apply(BackupsUpdate(networks: [.stored(hash)]), to: &state)
        #expect(state == before)
        try apply(BackupsUpdate(networks: [.stored(hash)], addressing: [hash: .fixed(other)]), to: &state)
        #expect(addresses(state) == Array(repeating: other, count: 6))
        try apply(BackupsUpdate(networks: [.stored(hash)], addressing: [hash: .dhcp]), to: &state)
        #expect(addresses(state) == Array(repeating: nil, count: 6))
        #expect(state.backupsRevision == 4)
    }

    @Test func aNetworkWithItsPasswordIsTheOwnersWholeWord() throws {
        var state = StoredState(home: try network("Home", "home-password"))
        func update(_ address: StaticAddress?, hidden: Bool = false) throws -> BackupsUpdate {
            BackupsUpdate(networks: [
                .new(
                    NewNetwork(
                        ssid: try SSID("Home"), password: Secret(text: "home-password"), isHidden: hidden,
                        address: address))
            ])
        }
        try apply(update(address), to: &state)
        #expect(addresses(state) == [address, address])
        try apply(update(other, hidden: true), to: &state)
        #expect(addresses(state) == [other, other], "also where one copy is hidden and the other is not")
        #expect(state.normalised() == state)
        try apply(update(nil), to: &state)
        #expect(addresses(state) == [nil, nil])
    }

    @Test func hashChangesOptionsInEveryCopy() throws {
        let home = try network("Home", "home-password")
        let hash = home.hash(localKey: localKey)
        var state = StoredState(home: home, chosen: home, current: home, backups: [home], backupsRevision: 1)
        func options() -> Set<NetworkOptions> {
            Set(([state.home, state.chosen, state.current].compactMap(\.self) + state.backups).map(\.options))
        }
        func change(_ change: NetworkOptions.Change) throws {
            try apply(BackupsUpdate(networks: [.stored(hash)], options: [hash: change]), to: &state)
        }
        try change(.init(allowsTKIP: true))
        #expect(options() == [.init(allowsTKIP: true)] && state.backupsRevision == 2)
        try change(.init(isAutomatic: false))
        #expect(options() == [.init(allowsTKIP: true, isManual: true)] && state.backupsRevision == 3)
        try apply(BackupsUpdate(networks: [.stored(hash)]), to: &state)
        #expect(options() == [.init(allowsTKIP: true, isManual: true)] && state.backupsRevision == 3)
        try change(.init(allowsTKIP: false, isAutomatic: true))
        #expect(options() == [.init()] && state.backupsRevision == 4)
        let whole = NewNetwork(ssid: home.ssid, password: Secret(text: "home-password"), options: .init(isManual: true))
        try apply(BackupsUpdate(networks: [.new(whole)]), to: &state)
        #expect(options() == [whole.options])
    }

    @Test func onlyAWPA2PasswordAllowsTKIP() throws {
        var strong = try network("Strong", "home-password")
        strong.minimumSecurity = [.sae, .pmf]
        for network in [strong, try network("Open")] {
            let hash = network.hash(localKey: localKey)
            var state = StoredState(backups: [network])
            let before = state
            let error = #expect(throws: ProtocolError.self) {
                try apply(
                    BackupsUpdate(networks: [.stored(hash)], options: [hash: .init(allowsTKIP: true)]), to: &state)
            }
            #expect(error?.code == .unsupported && state == before)
        }
    }

    @Test func aRefusedListChangesNoAddress() throws {
        let home = try network("Home", "home-password")
        let hash = home.hash(localKey: localKey)
        var state = StoredState(home: home, backups: [home])
        let before = state
        let unknown = NetworkHash(localKey: localKey, ssid: home.ssid, password: nil)
        #expect(throws: ProtocolError.self) {
            try apply(
                BackupsUpdate(networks: [.stored(hash), .stored(unknown)], addressing: [hash: .fixed(address)]),
                to: &state)
        }
        #expect(state == before)
    }

    @Test func aSwitchWithThePasswordSetsIt() throws {
        var target = try network("Home", "home-password")
        var state = StoredState(home: target, backups: [target])
        target.staticAddress = address
        state.applyUserSetting(for: target)
        #expect(addresses(state) == [address, address])
        state.adopt(target)
        #expect(state.home?.staticAddress == address && state.chosen == nil)
        let cafe = StoredNetwork(ssid: try SSID("Cafe"), credential: .none, staticAddress: other)
        state.adopt(cafe)
        #expect(state.chosen?.staticAddress == other)
    }
}

/// The app's list against the stored one: all of it, or nothing and a reason.
@Suite struct BackupUpdateTests {
    private func apply(
        _ networks: [NetworkReference], to state: inout StoredState, ifRevision: Int? = nil
    ) throws {
        try state.apply(
            PreparedUpdate(BackupsUpdate(networks: networks, ifRevision: ifRevision), maximum: 3, seals: seals),
            localKey: localKey)
    }

    // covers: seed/backups-update
    @Test func replacesTheWholeList() throws {
        var state = StoredState(backups: [try network("Old", "old-password")], backupsRevision: 4)
        try apply([reference("A", "password-a"), reference("B", "password-b")], to: &state)
        #expect(state.backups == [try network("A", "password-a"), try network("B", "password-b")])
        #expect(state.backupsRevision == 5)
    }

    // covers: seed/backups-update
    @Test func aHashAloneKeepsTheStoredPassword() throws {
        let kept = try network("Kept", "kept-password")
        var state = StoredState(home: try network("Home", "home-password"), backups: [kept, try network("Gone")])
        try apply([.stored(kept.hash(localKey: localKey)), reference("New", "new-password")], to: &state)
        #expect(state.backups == [kept, try network("New", "new-password")])
    }

    @Test func whatIsKnownOfANetworkStaysWhileItsPasswordDoes() throws {
        var known = try network("A", "password-a")
        known.security = .wpa2wpa3
        let statistics = NetworkStatistics(lastSeen: 5, lastFailure: .wrongKey)
        let before = StoredState(backups: [known], backupsRevision: 4, statistics: [known.ssid: statistics])
        var state = before
        try apply([reference("A", "password-a")], to: &state)
        #expect(state == before)
        try apply([reference("A", "password-b")], to: &state)
        #expect(state.backups == [try network("A", "password-b")])
        #expect(
            state.statistics == [known.ssid: NetworkStatistics(lastSeen: 5)], "the old password failed, not this one")
    }

    /// The owner alone lowers what a network must have, with its password or with the word that it has none.
    // covers: rule/floor-owner
    @Test func theOwnersWordOfTheSecurityCounts() throws {
        func update(logging security: Security?) throws -> [NetworkReference] {
            let credential = NetworkCredential.password(Secret(text: "password-a"))
            return [.new(NewNetwork(ssid: try SSID("A"), credential: credential, security: security))]
        }
        var state = StoredState()
        try apply(update(logging: .wpa3), to: &state)
        #expect(state.backups.map(\.security) == [.wpa3])
        #expect(state.backups.map(\.minimumSecurity) == [[.sae, .pmf]])
        // In all its roles.
        (state.home, state.chosen) = (state.backups[0], state.backups[0])
        for (security, floor) in [(.wpa2, []), (.wpa3, [.sae, .pmf]), (nil, [])] as [(Security?, LinkProtection)] {
            try apply(update(logging: security), to: &state)
            #expect(state.backups.map(\.security) == [security])
            #expect(state.backups.map(\.minimumSecurity) == [floor])
            #expect(state.home == state.backups[0])
            #expect(state.chosen == state.backups[0])
        }
    }

    // covers: rule/floor-owner
    @Test func aHashAloneKeepsTheFloor() throws {
        var known = try network("A", "password-a")
        (known.security, known.minimumSecurity) = (.wpa3, [.sae, .pmf])
        var state = StoredState(home: known, backups: [try network("B"), known])
        state.statistics[known.ssid] = NetworkStatistics(learnedMinimumSecurity: try learned())
        try apply([.stored(known.hash(localKey: localKey))], to: &state)
        #expect(state.backups == [known])
        #expect(state.home == known)
        #expect(state.statistics[known.ssid]?.learnedMinimumSecurity != nil)
    }

    private func learned() throws -> LearnedMinimumSecurity {
        var floor = LearnedMinimumSecurity()
        floor.countLink(with: .sae)
        return floor
    }

    /// A list that says nothing new but the password forgets what was learned.
    @Test func aPasswordSentAgainForgetsTheFloor() throws {
        let known = try network("A", "password-a")
        var state = StoredState(home: known, backups: [known])
        state.statistics[known.ssid] = NetworkStatistics(lastSeen: 5, learnedMinimumSecurity: try learned())
        try apply([reference("A", "password-a")], to: &state)
        #expect(state.statistics == [known.ssid: NetworkStatistics(lastSeen: 5)])
        #expect(state.backupsRevision == 1)
        try apply([reference("A", "password-a")], to: &state)
        #expect(state.backupsRevision == 1)
    }

    // covers: rule/floor-owner
    @Test func anOpenNetworkIsWhatItsOwnerSays() throws {
        func update(logging security: Security) throws -> [NetworkReference] {
            [.new(NewNetwork(ssid: try SSID("Cafe"), credential: .none, security: security))]
        }
        var state = StoredState()
        try apply(update(logging: .owe), to: &state)
        #expect(state.backups.map(\.minimumSecurity) == [.owe])
        try apply(update(logging: .open), to: &state)
        #expect(state.backups.map(\.minimumSecurity) == [[]])
    }

    private func sealed(_ name: String, _ password: String, with seals: SealOpener) throws -> NewNetwork {
        let device = try DeviceKey(deviceId: "device", localKey: localKey)
        let network = NewNetwork(ssid: try SSID(name), password: Secret(text: password))
        let context = SealContext(of: network, in: BackupsUpdate(networks: [.new(network)]))
        return network.with(.sealed(try seals.key.seal(Secret(text: password), in: context, for: device)))
    }

    @Test func whatIsSealedIsStoredLikeAnythingElse() throws {
        let seals = try seals
        let networks = try [sealed("A", "password-a", with: seals), sealed("B", "password-b", with: seals)]
        let update = BackupsUpdate(networks: networks.map { .new($0) })
        var state = StoredState()
        try state.apply(PreparedUpdate(update, maximum: 3, seals: seals), localKey: localKey)
        #expect(state.backups == [try network("A", "password-a"), try network("B", "password-b")])
        let again = #expect(throws: ProtocolError.self) { try PreparedUpdate(update, maximum: 3, seals: seals) }
        #expect(again?.code == .sealUsed)
        #expect(again?.details == ["field": "body.networks[0].sealed"])
    }

    @Test func oneThatDoesNotOpenRefusesTheWholeList() throws {
        let seals = try seals
        let good = try sealed("A", "password-a", with: seals)
        // Sealed for another network.
        let moved = NewNetwork(ssid: try SSID("B"), credential: try sealed("C", "password-c", with: seals).credential)
        let error = #expect(throws: ProtocolError.self) {
            try PreparedUpdate(BackupsUpdate(networks: [.new(good), .new(moved)]), maximum: 3, seals: seals)
        }
        #expect(error?.code == .sealInvalid)
        #expect(error?.details == ["field": "body.networks[1].sealed"])
    }

    /// The error names the member with the faulty box, for every fault.
    @Test func everyFaultOfABoxNamesItsMember() throws {
        let seals = try seals
        let device = try DeviceKey(deviceId: "device", localKey: localKey)
        let plain = NewNetwork(ssid: try SSID("A"), password: Secret(text: "password-a"))
        let context = SealContext(of: plain, in: BackupsUpdate(networks: [.new(plain)]))
        let box = try seals.key.seal(Secret(text: "password-a"), in: context, for: device)
        func changed(_ keyId: String, _ bytes: [UInt8]) throws -> SealedPassword {
            try #require(
                SealedBox(keyId: keyId, bytes: bytes, proof: box.sealed.proof).flatMap(SealedPassword.init))
        }
        let bytes = box.sealed.bytes
        let rotated = try changed("another", bytes)
        let altered = try changed(box.sealed.keyId, bytes.dropLast() + [bytes.last! ^ 1])
        for (name, sealed, code) in [
            ("A", rotated, ErrorCode.keyRotated), ("A", altered, .sealInvalid), ("B", box, .sealInvalid),
        ] {
            let network = NewNetwork(ssid: try SSID(name), credential: .sealed(sealed))
            let update = BackupsUpdate(networks: [.new(network)])
            let inList = #expect(throws: ProtocolError.self) { try PreparedUpdate(update, maximum: 3, seals: seals) }
            #expect(inList?.code == code)
            #expect(inList?.details == ["field": "body.networks[0].sealed"])
            let alone = #expect(throws: ProtocolError.self) {
                let context = SealContext(of: network, in: SwitchRequest(target: .new(network)))
                return try StoredNetwork(network, at: "body", in: context, openedWith: seals)
            }
            #expect(alone?.code == code)
            #expect(alone?.details == ["field": "body.sealed"])
        }
    }

    @Test func aPasswordThatCannotBeOneNamesItsMember() throws {
        let error = #expect(throws: ProtocolError.self) {
            var state = StoredState()
            try apply([reference("A", "password-a"), reference("B", "short")], to: &state)
        }
        #expect(error?.code == .invalidPassword)
        #expect(error?.details == ["field": "body.networks[1].password"])
    }

    /// If a list is refused for its length, the sealed passwords in it can be sent again.
    @Test func aListThatIsTooLongIsNotOpened() throws {
        let seals = try seals
        let network = try sealed("A", "password-a", with: seals)
        let update = BackupsUpdate(networks: [.new(network)])
        let error = #expect(throws: ProtocolError.self) { try PreparedUpdate(update, maximum: 0, seals: seals) }
        #expect(error?.code == .tooManyNetworks)
        #expect(error?.details == ["max": 0, "count": 1])
        #expect(try PreparedUpdate(update, maximum: 3, seals: seals).entries.count == 1)
    }

    /// Two houses may have routers of one name, and a router may change its password.
    // covers: seed/backups-update
    @Test func twoPasswordsOfOneNameAreTwoNetworks() throws {
        let (old, new) = (try network("A", "password-a"), try network("A", "password-b"))
        var state = StoredState(home: try network("Home", "home-password"), chosen: new, backups: [old])
        try apply([.stored(old.hash(localKey: localKey)), reference("A", "password-b")], to: &state)
        #expect(state.backups == [old, new] && state.chosen == new)
        #expect(state.network(new.hash(localKey: localKey), localKey: localKey) == new)
        var registry = NetworkRegistry()
        let known = registry.known(in: state)
        #expect(known.map { registry[$0.id] } == [new, state.home, old], "each is tried")

        // A third password replaces neither. A switch to one of them leaves the other.
        state.adopt(old)
        #expect(state.backups == [old, new] && state.chosen == old)
        let third = try network("A", "password-c")
        state.adopt(third)
        #expect(state.backups == [old, new])
        try apply([.stored(new.hash(localKey: localKey)), .stored(old.hash(localKey: localKey))], to: &state)
        #expect(state.backups == [new, old] && state.chosen == third, "the verified password stays")

        var twin = StoredState(home: old, backups: [new])
        twin.adopt(new)
        #expect(twin.home == old && twin.backups == [new] && twin.chosen == new, "a backup is not the home network")
        twin.adopt(third)
        #expect(twin.home == third && twin.backups == [third])

        let newest = Secret(text: "password-d")
        let key = StagedPassword.Key(passphrase: newest, psk: Secret([UInt8](repeating: 7, count: 32)))
        let isStaged = state.stage(StagedPassword(id: "c-1", ssid: old.ssid, key: key, since: 0, keepFor: nil))
        #expect(isStaged)
        state.endRotation("c-1", .committed)
        #expect(state.backups.map(\.password) == [newest], "the newer password replaces both")
    }

    @Test func theSameListChangesNothing() throws {
        var state = StoredState(backups: [try network("A", "password-a")], backupsRevision: 4)
        try apply([reference("A", "password-a")], to: &state)
        #expect(state.backupsRevision == 4)
    }

    // covers: seed/backups-update
    @Test func refusalsLeaveTheListAsItWas() throws {
        let known = try network("A", "password-a")
        let before = StoredState(backups: [known], backupsRevision: 4)
        let hash = known.hash(localKey: localKey)
        let stranger = NetworkHash(localKey: localKey, ssid: known.ssid, password: Secret(text: "password-b"))
        let four = try (1...4).map { try reference("N\($0)", "password-\($0)") }
        let refused: [([NetworkReference], Int?, ErrorCode)] = [
            (four, nil, .tooManyNetworks),
            ([.stored(stranger)], nil, .unknownNetwork),
            ([.stored(hash), try reference("A", "password-a")], nil, .duplicateNetwork),
            ([.stored(hash), .stored(hash)], nil, .duplicateNetwork),
            ([.stored(hash)], 3, .revisionConflict),
            ([try reference("A", "short")], nil, .invalidPassword),
        ]
        for (networks, revision, code) in refused {
            var state = before
            let error = #expect(throws: ProtocolError.self) {
                try apply(networks, to: &state, ifRevision: revision)
            }
            #expect(error?.code == code)
            #expect(state == before)
            #expect(error.map { !"\($0)".contains("password-") } == true, "no password in an error")
        }
    }
}

/// The preferred network: the last one that the device was sent to, else the one it was provisioned with.
@Suite struct AdoptionTests {
    private let home = Result { try network("Home", "home-password") }
    private let backup = Result { try network("Backup", "password-b") }

    // covers: seed/switch-by-name
    @Test func theFirstNetworkIsHomeAndTheNextOneTheChoice() throws {
        var state = StoredState(backups: [try backup.get()])
        state.adopt(try home.get())
        #expect(state.home == (try home.get()))
        #expect(state.chosen == nil)
        state.adopt(try backup.get())
        #expect(state.chosen == (try backup.get()))
        state.adopt(try network("Guest"))
        #expect(state.chosen == (try network("Guest")))
        state.adopt(try home.get())
        #expect(state.chosen == nil, "back home")
        #expect(state == StoredState(home: try home.get(), backups: [try backup.get()]))
    }

    /// The list is one thing, where the device belongs another.
    // covers: seed/join-kept
    @Test func aChosenNetworkIsKeptWhateverTheListSays() throws {
        var state = StoredState(home: try home.get(), chosen: try backup.get(), backups: [try backup.get()])
        try state.apply(PreparedUpdate(entries: [], ifRevision: nil), localKey: Secret(text: "key"))
        #expect(state == StoredState(home: try home.get(), chosen: try backup.get(), backupsRevision: 1))
    }

    // covers: seed/home
    @Test func homeIsReplacedAndForgotten() throws {
        let key = Secret(text: "key")
        var state = StoredState(home: try home.get(), chosen: try network("Guest"), backups: [try backup.get()])
        func change(_ home: PreparedUpdate.Home, entries: [PreparedUpdate.Entry]) throws {
            try state.apply(PreparedUpdate(entries: entries, ifRevision: nil, home: home), localKey: key)
        }
        let listed = PreparedUpdate.Entry.stored(try backup.get().hash(localKey: key))
        try change(.replaced(by: listed), entries: [listed])
        #expect(state == StoredState(home: try backup.get(), backups: [try backup.get()], backupsRevision: 1))
        try change(.replaced(by: .new(try network("Lab"))), entries: [listed])
        let lab = try network("Lab")
        #expect(state == StoredState(home: lab, backups: [try backup.get()], backupsRevision: 2))
        let before = state
        let unknown = PreparedUpdate.Entry.stored(try network("Nowhere").hash(localKey: key))
        #expect(throws: ProtocolError.self) { try change(.replaced(by: unknown), entries: []) }
        #expect(state == before, "the list stands as well")
        try change(.forgotten, entries: [])
        #expect(state == StoredState(backupsRevision: 3))
        try change(.forgotten, entries: [])
        #expect(state.backupsRevision == 3, "nothing changed")
    }

    @Test func aBackupThatIsTheFirstNetworkIsNoHome() throws {
        var state = StoredState(backups: [try backup.get()])
        state.adopt(try backup.get())
        #expect(state.home == nil, "or it could not be removed from the list")
        #expect(state.preferred == (try backup.get()))
    }

    /// The router's password was rotated, and the app sends the device there with the new one.
    @Test func aNewPasswordReplacesTheOldOneEverywhere() throws {
        var state = StoredState(
            home: try network("Home", "old-password"), chosen: try network("Backup", "old-password"),
            backups: [try network("Backup", "old-password"), try network("Home", "older-password")],
            backupsRevision: 7)
        state.adopt(try network("Home", "new-password"))
        #expect(state.home == (try network("Home", "new-password")))
        #expect(state.backups[1] == (try network("Home", "new-password")))
        #expect(state.backupsRevision == 8)
        #expect(state.chosen == nil)
        state.adopt(try network("Backup", "new-password"))
        #expect(state.backups[0] == (try network("Backup", "new-password")))
        #expect(state.chosen == (try network("Backup", "new-password")))
        #expect(state.backupsRevision == 9)
        #expect(Set(state.namedNetworks.map(\.ssid)).count == 2)
    }

    /// Once home can be forgotten by itself, a list decides about backups alone.
    @Test func theChoiceTakesItsPasswordFromTheListAndStaysWithoutIt() throws {
        func update(_ state: inout StoredState, _ networks: [NetworkReference]) throws {
            try state.apply(
                PreparedUpdate(BackupsUpdate(networks: networks, ifRevision: nil), maximum: 3, seals: seals),
                localKey: localKey)
        }
        var state = StoredState(home: try home.get(), backups: [try backup.get()])
        state.adopt(try backup.get())
        try update(&state, [reference("Other", "password-o"), .stored(backup.get().hash(localKey: localKey))])
        #expect(state.preferred == (try backup.get()), "still in the list")
        try update(&state, [reference("Backup", "password-c")])
        #expect(state.preferred == (try network("Backup", "password-c")))
        try update(&state, [reference("Other", "password-o")])
        #expect(state.preferred == (try network("Backup", "password-c")))

        // As one that was never in the list.
        state.adopt(try network("Guest"))
        try update(&state, [])
        #expect(state.preferred == (try network("Guest")))
    }

    @Test func aNetworkThatIsStoredIsNotStoredAgain() throws {
        var known = try network("Home", "home-password")
        known.security = .wpa3
        var state = StoredState(home: known)
        state.adopt(try network("Home", "home-password"))
        #expect(state == StoredState(home: known))
    }

}

/// The outcome of a pending switch in the key file.
@Suite struct SwitchOutcomeTests {
    private let home = Result { try network("Home", "home-password") }
    private let target = Result { try network("Guest", "guest-password") }

    private func pending(_ id: String) throws -> StoredState {
        StoredState(
            home: try home.get(),
            pendingSwitch: PendingSwitch(id: id, target: try target.get(), cameFrom: try home.get().ssid))
    }

    @Test func aCommittedOneKeepsItsTarget() throws {
        var state = try pending("1")
        state.pendingSwitch?.target?.security = .wpa3
        state.applyOutcome(SwitchOutcome(switchID: "1", isCommitted: true, isResumed: false))
        #expect(state.pendingSwitch == nil)
        #expect(state.home == (try home.get()))
        #expect(state.chosen?.isSame(as: try target.get()) == true)
        #expect(state.chosen?.security == .wpa3, "what was learnt of it meanwhile is kept")
    }

    @Test(arguments: [false, true]) func oneThatFailedLeavesNothing(isResumed: Bool) throws {
        var state = try pending("1")
        state.applyOutcome(SwitchOutcome(switchID: "1", isCommitted: false, isResumed: isResumed))
        #expect(state == StoredState(home: try home.get()))
    }

    @Test(arguments: [false, true]) func aDeviceThatKnowsNothingElseKeepsTheTargetAfterARestart(isResumed: Bool) throws
    {
        var state = try pending("1")
        state.home = nil
        state.applyOutcome(SwitchOutcome(switchID: "1", isCommitted: false, isResumed: isResumed))
        #expect(state == StoredState(home: isResumed ? try target.get() : nil))
    }

    /// The network of a switch with `joinOnce` is none that the device has to know afterwards.
    @Test(arguments: [false, true], [false, true])
    func aVisitLeavesNothing(isCommitted: Bool, isResumed: Bool) throws {
        let outcome = SwitchOutcome(switchID: "1", isCommitted: isCommitted, isResumed: isResumed)
        for before in [StoredState(), StoredState(home: try home.get(), chosen: try target.get())] {
            var state = before
            state.pendingSwitch = PendingSwitch(id: "1", target: nil, cameFrom: try home.get().ssid)
            state.applyOutcome(outcome)
            #expect(state == before)
        }
    }

    @Test func itEndsNoOtherSwitchAndIsSettledOnce() throws {
        let outcome = SwitchOutcome(switchID: "1", isCommitted: true, isResumed: false)
        var state = try pending("2")
        state.applyOutcome(outcome)
        #expect(state == (try pending("2")))
        // The app has taken it out of the list since it was settled.
        var settled = StoredState(home: try home.get())
        settled.applyOutcome(outcome)
        #expect(settled == StoredState(home: try home.get()))
    }
}

@Suite struct NetworkRegistryTests {
    @Test func aNetworkKeepsItsNumberUntilItsPasswordChanges() throws {
        var book = NetworkRegistry()
        var state = StoredState(home: try network("Home", "home-password"), backups: [try network("B", "password-b")])
        let first = book.known(in: state)
        #expect(first.map(\.ssid.description) == ["Home", "B"])
        #expect(first.map(\.isPreferred) == [true, false])
        #expect(book.known(in: state) == first)

        state.backups = [try network("B", "password-c")]
        let second = book.known(in: state)
        #expect(second[0].id == first[0].id)
        #expect(second[1].id != first[1].id)
        #expect(book[first[1].id] == nil)
        #expect(book[second[1].id]?.password == Secret(text: "password-c"))
    }

    @Test func whatIsLearntOfANetworkDoesNotMakeItAnotherOne() throws {
        var book = NetworkRegistry()
        var home = try network("Home", "home-password")
        let first = book.known(in: StoredState(home: home, backups: [home]))
        home.security = .wpa3
        #expect(book.known(in: StoredState(home: home, backups: [home])) == first)
        #expect(first.map(\.isPreferred) == [true])
        #expect(book[first[0].id]?.security == .wpa3)
    }

    @Test func aNetworkThatIsThereTwiceIsOne() throws {
        var book = NetworkRegistry()
        let home = try network("Home", "home-password")
        let target = try network("Target")
        let state = StoredState(
            home: home, backups: [home], pendingSwitch: PendingSwitch(id: "1", target: target, cameFrom: home.ssid))
        #expect(book.known(in: state).map(\.ssid) == [home.ssid, target.ssid])
    }

    @Test func theTargetOfAVisitIsOneToJoinWithoutBeingStored() throws {
        var book = NetworkRegistry()
        let (home, guest) = (try network("Home", "home-password"), try network("Guest", "guest-password"))
        var state = StoredState(
            home: home, pendingSwitch: PendingSwitch(id: "1", target: nil, cameFrom: home.ssid))
        let known = book.known(in: state, target: guest)
        #expect(known.map(\.ssid) == [home.ssid, guest.ssid])
        #expect(known.map(\.isPreferred) == [true, false])

        // Committed: in use, and none to join.
        state.pendingSwitch = nil
        let id = try #require(book.id(of: guest))
        #expect(book.known(in: state, keeping: id).map(\.ssid) == [home.ssid])
        #expect(book[id] == guest)
        book.forget(allBut: [known[0].id])
        #expect(book[id] == nil)
        #expect(book[known[0].id] == home)
    }

    @Test func theNetworkThatTheDeviceBelongsInComesFirst() throws {
        var book = NetworkRegistry()
        let (home, a, b) = (try network("Home", "home-password"), try network("A"), try network("B"))
        var state = StoredState(home: home, chosen: b, backups: [a, b])
        let chosen = book.known(in: state)
        #expect(chosen.map(\.ssid) == [b.ssid, home.ssid, a.ssid])
        #expect(chosen.map(\.isPreferred) == [true, false, false])
        state.chosen = nil
        #expect(book.known(in: state).filter(\.isPreferred).map(\.ssid) == [home.ssid])
    }

    @Test func manualBackupIsKnownOnlyByCommand() throws {
        var book = NetworkRegistry()
        let home = try network("Home", "home-password")
        var phone = try network("Phone", "phone-password")
        phone.options.isManual = true
        var state = StoredState(home: home, backups: [phone])
        #expect(book.known(in: state).map(\.ssid) == [home.ssid])
        #expect(book.known(in: state, target: phone).map(\.ssid) == [home.ssid, phone.ssid])
        state.adopt(phone)
        #expect(book.known(in: state).map(\.ssid) == [phone.ssid, home.ssid], "it was chosen")
        state.adopt(home)
        #expect(book.known(in: state).map(\.ssid) == [home.ssid])
        state.home?.options.isManual = true
        #expect(book.known(in: state).map(\.ssid) == [home.ssid], "the device belongs there")
    }

    @Test func optionsReachThePolicy() throws {
        var book = NetworkRegistry()
        var home = try network("Home", "home-password")
        let first = book.known(in: StoredState(home: home))
        home.options.allowsTKIP = true
        home.options.band = .five
        home.options.bssid = BSSID("02:00:00:00:01:00")
        let allowed = book.known(in: StoredState(home: home))
        #expect(first.map(\.allowsTKIP) == [false] && allowed.map(\.allowsTKIP) == [true])
        #expect(first.map(\.band) == [nil] && allowed.map(\.band) == [.five])
        #expect(first.map(\.bssid) == [nil] && allowed.map(\.bssid) == [home.options.bssid])
        #expect(allowed.map(\.id) == first.map(\.id))
    }

    @Test func aNetworkInUseIsNotForgottenWhenItLeavesTheList() throws {
        var book = NetworkRegistry()
        let backup = try network("B", "password-b")
        let id = try #require(book.known(in: StoredState(backups: [backup])).first?.id)
        #expect(book.known(in: StoredState(), keeping: id).isEmpty)
        #expect(book[id] == backup)
        #expect(book.known(in: StoredState()).isEmpty)
        #expect(book[id] == nil)
    }
}

@Suite struct PreSharedKeyTests {
    /// IEEE 802.11-2020, annex J.4.2.
    // covers: seed/switch-by-name
    @Test(arguments: [
        ("password", "IEEE", "f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e"),
        ("ThisIsAPassword", "ThisIsASSID", "0dc0d6eb90555ed6419756b9a15ec3e3209b63df707dd508d14581f8982721af"),
        (
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "becb93866bb8c3832cb777c2f559807c8c59afcb6eae734885001300a981cc62"
        ),
    ])
    func isDerivedAsTheStandardSays(passphrase: String, ssid: String, key: String) throws {
        let derived = try PreSharedKey.derive(from: Secret(text: passphrase), ssid: SSID(ssid))
        #expect(derived.withBytes { Hex.string($0) } == key)
    }

    // covers: seed/wpa3
    @Test func aKeyInPlaceOfAPasswordIsUsedAsItIs() throws {
        let digits = String(repeating: "0aF1", count: 16)
        let key = try PreSharedKey.derive(from: Secret(text: digits), ssid: SSID("Attic"))
        #expect(key.withBytes { Hex.string($0) } == digits.lowercased())
    }

    /// What WPA2 cannot take is stored only where WPA2 is never used.
    @Test(arguments: ["1", String(repeating: "é", count: 64)])
    func aPasswordOfWPA3AloneBringsTheFloorAlong(text: String) throws {
        let ssid = try SSID("Attic")
        let network = try StoredNetwork(
            DecryptedNetwork(ssid: ssid, password: Secret(text: text), security: .wpa3))
        #expect(network.minimumSecurity == [.sae, .pmf])
        for security in [nil, Security.wpa2, .wpa2wpa3] {
            #expect(throws: ProtocolError.self) {
                try StoredNetwork(DecryptedNetwork(ssid: ssid, password: Secret(text: text), security: security))
            }
        }
    }
}

@Suite struct SwitchLedgerTests {
    /// An app follows the phases, and a second attempt to join is not one.
    @Test func aPhaseIsToldOnce() throws {
        var ledger = SwitchLedger()
        let id = ledger.open("a", target: try network("Attic")).id
        let told = [.accepted, .joining, .joining, .waitingForAddress, .joining, .rolledBack(.wrongKey), .committed]
            .compactMap { (progress: SwitchProgress) in ledger.update(id, progress)?.status.phase }
        #expect(told == [.accepted, .joining, .waitingForAddress, .rolledBack])
    }

    @Test func keepsOutcomesForAnAppThatReconnects() throws {
        var ledger = SwitchLedger()
        let entry = ledger.open("abc", target: try network("Guest\u{1b}"))
        #expect(ledger.current?.id == entry.id)
        #expect(ledger.update(entry.id, .joining)?.status.phase == .joining)
        #expect(ledger.update(entry.id, .rolledBack(.wrongKey))?.status.reason?.rawValue == "wrongKey")
        #expect(ledger.current == nil)
        #expect(ledger["abc"]?.status.text?.hasPrefix("Guest\\x1b: ") == true)
        #expect(ledger["abd"] == nil)
        #expect(ledger.update(99, .committed) == nil)
    }

    @Test func everyPhaseIsTold() throws {
        var ledger = SwitchLedger()
        let entry = ledger.open("abc", target: try network("Guest"), confirmWithin: .seconds(30))
        let phases: [(SwitchProgress, SwitchPhase)] = [
            (.joining, .joining), (.waitingForAddress, .waitingForAddress), (.validating, .validating),
            (.waitingForConfirmation, .waitingForConfirmation), (.committed, .committed),
        ]
        for (progress, phase) in phases {
            #expect(ledger.update(entry.id, progress)?.status.phase == phase)
            #expect((ledger.current == nil) == phase.isOutcome)
        }
    }

    @Test func anOutcomeThatIsNotStoredSaysSo() throws {
        var ledger = SwitchLedger()
        let entry = ledger.open("abc", target: try network("Guest"))
        let status = try #require(ledger.update(entry.id, .committed, isStored: false)?.status)
        #expect(status.phase == .committed)
        #expect(status.text?.contains("Guest") == true && status.text?.contains("stored") == true)
        let next = ledger.open("abd", target: try network("Guest"))
        let failed = try #require(ledger.update(next.id, .rolledBack(.wrongKey), isStored: false)?.status)
        #expect(failed.reason?.rawValue == "wrongKey")
        #expect(failed.text?.contains("stored") == true)
    }

    /// The policy says nothing to a confirmation that it has no use for, so the phase stays as it was.
    @Test func aConfirmationThatChangedNothingIsRefused() throws {
        for phase in SwitchPhase.allCases {
            let status = SwitchStatus(switchId: "abc", phase: phase)
            if [.committed, .validating, .waitingForAddress].contains(phase) {
                #expect(try status.afterConfirmation() == status)
            } else {
                let error = #expect(throws: ProtocolError.self) { try status.afterConfirmation() }
                #expect(error?.code == .notWaiting)
                #expect(error?.details == ["phase": .text(phase.rawValue)])
            }
        }
    }

    @Test func aSwitchThatARestartCutShortEndsLikeAnyOther() throws {
        var ledger = SwitchLedger()
        let entry = ledger.open("abc", target: try network("Guest"), isResumed: true)
        #expect(ledger.current?.isResumed == true)
        #expect(ledger.update(entry.id, .rolledBack(.interrupted))?.status.reason?.rawValue == "interrupted")
        #expect(ledger["abc"]?.status.text?.contains("restart") == true)
        #expect(ledger.current == nil)
    }

    @Test func itsSizeIsBounded() throws {
        var ledger = SwitchLedger()
        for number in 1...100 {
            let entry = ledger.open("\(number)", target: try network("Guest"))
            _ = ledger.update(entry.id, .committed)
        }
        #expect(ledger["100"] != nil && ledger["85"] != nil)
        #expect(ledger["84"] == nil)
    }
}
