import AgentModel
import Testing

@testable import Import

@Suite struct ImportPlanTests {
    private func network(
        _ name: String, password: String = "12345678", priority: Int = 0, last: UInt64? = nil,
        from source: String = "/a",
        address: StaticAddress? = nil, ofInterface: Bool = false, isAutomatic: Bool = true
    ) throws -> FoundNetwork {
        FoundNetwork(
            ssid: try SSID(name), credential: .passphrase(Secret(text: password)), address: address,
            addressIsOfInterface: ofInterface, priority: priority, lastConnected: last, isAutomatic: isAutomatic,
            place: ImportLocation(source))
    }

    private func plan(
        _ networks: [FoundNetwork], home: String? = nil, backups: [String] = [], maximum: Int = 3,
        connected: String? = nil, replaces: Bool = false, addresses: [SeparateAddress] = [], homeTakesRoom: Bool = false
    ) throws -> ImportPlan {
        var contents = SourceContents()
        contents.networks = networks
        contents.addresses = addresses
        return ImportPlan(
            [contents],
            device: ImportPlan.Device(
                home: try home.map { try SSID($0) }, backups: try backups.map { try SSID($0) }, maximum: maximum),
            connected: try connected.map { ["wlan0": try SSID($0)] } ?? [:], replaces: replaces,
            homeTakesRoom: homeTakesRoom)
    }

    private func roles(_ plan: ImportPlan) -> [String] { plan.entries.map { "\($0.network.ssid) \($0.role)" } }

    private func address(_ text: String) throws -> StaticAddress {
        try StaticAddress(address: try #require(IPAddress(text)), prefixLength: 24)
    }

    @Test func homeIsWhatIsConnectedThenPriorityThenTime() throws {
        let networks = [
            try network("a", last: 5), try network("b", priority: 2), try network("c", last: 9), try network("d"),
        ]
        #expect(roles(try plan(networks)) == ["b home", "c backup", "a backup", "d backup"])
        let connected = try plan(networks, connected: "d")
        #expect(roles(connected) == ["d home", "b backup", "c backup", "a backup"])
        #expect(connected.entries.map(\.isConnected) == [true, false, false, false])
    }

    @Test func asManyBackupsAsThereIsRoomFor() throws {
        let networks = try ["a", "b", "c", "d"].map { try network($0) }
        #expect(roles(try plan(networks, maximum: 2)) == ["a home", "b backup", "c backup", "d noRoom"])
        #expect(
            roles(try plan(networks, maximum: 2, homeTakesRoom: true)) == [
                "a home", "b backup", "c noRoom", "d noRoom",
            ])
        #expect(
            roles(try plan(networks, home: "x", backups: ["y", "b"], maximum: 3))
                == ["a backup", "b kept", "c noRoom", "d noRoom"])
        #expect(roles(try plan(networks, home: "x", maximum: 0)).allSatisfy { $0.hasSuffix("noRoom") })
        #expect(try plan(networks, home: "x", maximum: 0).changesNothing)
    }

    @Test func whatTheDeviceHasStaysUnlessItIsReplaced() throws {
        let networks = try ["a", "b"].map { try network($0) }
        #expect(roles(try plan(networks, home: "a")) == ["a kept", "b backup"])
        #expect(roles(try plan(networks, home: "x", connected: "b")) == ["b backup", "a backup"])
        #expect(roles(try plan(networks, backups: ["a"])) == ["a kept", "b backup"])
        #expect(
            roles(try plan(networks, home: "x", backups: ["b"], maximum: 1, replaces: true)) == ["a home", "b backup"])
    }

    @Test func oneNetworkFromTwoPlacesIsOne() throws {
        let older = try network("a", password: "old password", priority: 4, last: 3, from: "/first")
        let newer = try network("a", password: "new password", last: 8, from: "/second")
        let merged = try plan([older, newer])
        #expect(roles(merged) == ["a home"])
        #expect(password(merged.home) == "new password")
        #expect(merged.home?.priority == 4 && merged.home?.lastConnected == 8)
        #expect(merged.entries.first?.places.map(\.source) == ["/second", "/first"])
        let same = try plan([try network("a", from: "/first"), try network("a", from: "/second")])
        #expect(same.entries.first?.places.map(\.source) == ["/first", "/second"])
    }

    @Test func aRefusalIsNotToldWhereAnotherSourceHasTheNetwork() throws {
        var sealed = SourceContents()
        sealed.add(
            {
                var draft = NetworkDraft(ImportLocation("/keyring"))
                (draft.name, draft.password) = (Array("a".utf8), .elsewhere)
                return draft
            }())
        var other = SourceContents()
        other.networks = [try network("a")]
        let device = ImportPlan.Device(maximum: 3)
        #expect(ImportPlan([sealed], device: device).findings.map(\.reason) == [.passwordElsewhere])
        #expect(ImportPlan([sealed, other], device: device).findings.isEmpty)
        #expect(ImportPlan([other, sealed], device: device).home?.ssid.text == "a")
    }

    @Test func keysAloneAreResolvedOrLeftOut() throws {
        var contents = SourceContents()
        var draft = NetworkDraft(ImportLocation("/x"))
        let key = Secret(Array(repeating: UInt8(1), count: 32))
        (draft.name, draft.password) = (Array("a".utf8), .derivedKey(key, candidates: [Secret(text: "12345678")]))
        contents.add(draft)
        let device = ImportPlan.Device(maximum: 3)
        #expect(ImportPlan([contents], device: device).findings.map(\.reason) == [.derivedKeyOnly])
        contents.resolveKeys { network, found, candidates in
            #expect(network.ssid.text == "a" && found == key)
            return candidates.first
        }
        #expect(password(ImportPlan([contents], device: device).home) == "12345678")
    }

    @Test func theNetworkInUseThatTheDeviceDoesNotGetIsTold() throws {
        let networks = try ["a", "b"].map { try network($0) }
        #expect(try plan(networks, connected: "x").lost.map(\.text) == ["x"])
        #expect(try plan(networks, home: "y", maximum: 1, connected: "b").lost.isEmpty)
        #expect(try plan(networks, home: "y", maximum: 0, connected: "b").lost.map(\.text) == ["b"])
        #expect(try plan(networks, home: "x", connected: "x").lost.isEmpty)
    }

    @Test func networksThatAreNotJoinedByThemselvesAreLeftOutUnlessConnected() throws {
        let networks = [try network("a", isAutomatic: false)]
        #expect(try plan(networks).findings.map(\.reason) == [.notAutomatic])
        #expect(roles(try plan(networks, connected: "a")) == ["a home"])
    }

    @Test func theAddressOfAnInterfaceIsOfOneNetwork() throws {
        let static1 = try address("10.0.0.2")
        let networks = try ["a", "b"].map { try network($0, address: static1, ofInterface: true) }
        let result = try plan(networks, connected: "b")
        #expect(result.entries.map { $0.network.address != nil } == [true, false])
        #expect(result.findings.map(\.ssid?.text) == ["a"])
        let other = try SSID("b")
        #expect(result.findings.map(\.reason) == [.addressOfOther(other)])
    }

    // covers: seed/import
    @Test func dhcpcdsAddresses() throws {
        func pattern(_ name: String) -> [InterfacePattern] { [InterfacePattern(names: [name])] }
        let (first, second, third) = (try address("10.0.0.2"), try address("10.0.1.2"), try address("10.0.2.2"))
        let addresses = [
            SeparateAddress(interfaces: pattern("eth0"), address: third, place: ImportLocation("/d")),
            SeparateAddress(interfaces: pattern("wlan*"), address: first, place: ImportLocation("/d")),
            SeparateAddress(ssid: try SSID("b"), address: second, place: ImportLocation("/d")),
        ]
        let result = try plan(try ["a", "b", "c"].map { try network($0) }, connected: "a", addresses: addresses)
        #expect(result.entries.map { $0.network.address?.address } == [first.address, second.address, nil])
    }
}
